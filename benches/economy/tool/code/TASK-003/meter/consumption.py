"""What was consumed, by month or by year."""

import datetime

FORMATS = {"month": "%Y-%m", "year": "%Y"}


def consumption(readings, by):
    """The consumption of each period from the first to the last reading, in their order. What two
    readings differ by is spread evenly over the days from the first to the day before the second.
    """
    periods = {}
    for before, after in zip(readings, readings[1:]):
        days = (after.date - before.date).days
        a_day = (after.value - before.value) / days
        for day in range(days):
            date = before.date + datetime.timedelta(days=day)
            name = date.strftime(FORMATS[by])
            periods[name] = periods.get(name, 0.0) + a_day
    return periods
