import datetime
import unittest

from meter.book import Impossible, add
from meter.store import Reading, Readings


def reading(day, value):
    return Reading(datetime.date(2026, 1, day), value)


class Book(unittest.TestCase):
    def setUp(self):
        self.readings = Readings([reading(5, 100), reading(20, 150)])

    def values(self):
        return [item.value for item in self.readings.items]

    def test_a_reading_goes_where_its_date_belongs(self):
        for day, value in [(1, 90), (10, 120), (31, 150)]:
            add(self.readings, reading(day, value))
        self.assertEqual(self.values(), [90, 100, 120, 150, 150])

    def test_what_cannot_be_right_is_refused(self):
        for day, value in [(5, 100), (10, 99), (10, 151), (1, 101), (31, 149)]:
            with self.assertRaises(Impossible):
                add(self.readings, reading(day, value))
        self.assertEqual(self.values(), [100, 150])
