import contextlib
import datetime
import io
import os
import tempfile
import unittest

from meter.cli import main


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "meter.csv")

    def meter(self, *arguments):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(["--file", self.path, *arguments])
        return code, out.getvalue(), err.getvalue()


class CommandLine(Case):
    def test_a_reading_is_of_today(self):
        self.assertEqual(self.meter("add", "15230")[0], 0)
        today = datetime.date.today().isoformat()
        self.assertIn(f"{today}      15230", self.meter("list")[1])

    def test_differences_are_listed(self):
        self.meter("add", "150", "--date", "2026-02-01")
        self.meter("add", "100", "--date", "2026-01-01")
        _, listed, _ = self.meter("list")
        self.assertEqual(listed, "2026-01-01        100\n2026-02-01        150      +50\n")

    def test_what_cannot_be_right_is_refused(self):
        self.meter("add", "100", "--date", "2026-01-01")
        code, _, said = self.meter("add", "99", "--date", "2026-01-02")
        self.assertEqual((code, said), (2, "meter: 99 is less than 100 of 2026-01-01\n"))

    def test_a_broken_file_is_left_alone(self):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write("rubbish\n")
        code, _, said = self.meter("add", "1")
        self.assertEqual(code, 1)
        self.assertIn("meter.csv:1: ", said)
        with open(self.path, encoding="utf-8") as file:
            self.assertEqual(file.read(), "rubbish\n")
