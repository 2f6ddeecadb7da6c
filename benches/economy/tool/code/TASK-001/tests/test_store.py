import datetime
import os
import tempfile
import unittest

from meter.store import BrokenFile, load, save

TEXT = "date,reading\n# moved in\n2026-01-01,100\n\n2026-02-01,131\n# end\n"


class Store(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "meter.csv")

    def write(self, text):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(text)

    def read(self):
        with open(self.path, encoding="utf-8") as file:
            return file.read()

    def test_no_file_is_no_reading(self):
        self.assertEqual(load(self.path).items, [])

    def test_comments_stay_where_they_are(self):
        self.write(TEXT)
        readings = load(self.path)
        self.assertEqual(readings.items[0].date, datetime.date(2026, 1, 1))
        self.assertEqual(readings.items[1].value, 131)
        save(self.path, readings)
        self.assertEqual(self.read(), TEXT)

    def test_a_broken_line_is_named(self):
        for line in ["2026-01-01", "2026-13-01,5", "2026-01-01,five", "2026-01-01,1,2"]:
            self.write(f"date,reading\n{line}\n")
            with self.assertRaisesRegex(BrokenFile, "meter.csv:2: "):
                load(self.path)

    def test_days_are_in_order(self):
        self.write("2026-02-01,5\n2026-01-01,6\n")
        with self.assertRaisesRegex(BrokenFile, ":2: "):
            load(self.path)

    def test_saving_leaves_nothing_beside_the_file(self):
        self.write(TEXT)
        save(self.path, load(self.path))
        self.assertEqual(os.listdir(os.path.dirname(self.path)), ["meter.csv"])
