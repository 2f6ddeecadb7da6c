import datetime
import unittest

from meter.consumption import consumption
from meter.store import Reading


def readings(*items):
    return [Reading(datetime.date.fromisoformat(date), value) for date, value in items]


class Consumption(unittest.TestCase):
    def test_months_share_what_lies_between_readings(self):
        found = consumption(readings(("2026-01-22", 100), ("2026-02-11", 140)), "month")
        self.assertEqual(list(found), ["2026-01", "2026-02"])
        self.assertAlmostEqual(found["2026-01"], 20)
        self.assertAlmostEqual(found["2026-02"], 20)

    def test_periods_add_up(self):
        found = consumption(
            readings(("2024-11-03", 7), ("2025-03-01", 400), ("2026-02-02", 911)), "year"
        )
        self.assertEqual(list(found), ["2024", "2025", "2026"])
        self.assertAlmostEqual(sum(found.values()), 904)

    def test_one_reading_tells_nothing(self):
        self.assertEqual(consumption(readings(("2026-01-01", 5)), "month"), {})
