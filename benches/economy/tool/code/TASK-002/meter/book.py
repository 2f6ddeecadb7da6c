"""Readings in the order of their dates."""

from bisect import bisect_left


class Impossible(Exception):
    """A reading that does not fit those around it."""


def add(readings, reading):
    """Puts a reading where its date belongs."""
    dates = [item.date for item in readings.items]
    at = bisect_left(dates, reading.date)
    if at < len(dates) and dates[at] == reading.date:
        raise Impossible(f"there is a reading of {reading.date} already")
    if at > 0 and readings.items[at - 1].value > reading.value:
        before = readings.items[at - 1]
        raise Impossible(f"{reading.value} is less than {before.value} of {before.date}")
    if at < len(dates) and readings.items[at].value < reading.value:
        after = readings.items[at]
        raise Impossible(f"{reading.value} is more than {after.value} of {after.date}")
    readings.items.insert(at, reading)
