"""Tests of meter."""
