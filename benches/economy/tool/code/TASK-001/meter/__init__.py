"""Readings of an electricity meter."""
