import unittest

from tests.test_cli import Case


class Week(Case):
    def test_by_week(self):
        self.meter("add", "100", "--date", "2026-02-23")
        self.meter("add", "114", "--date", "2026-03-09")
        _, printed, _ = self.meter("report", "--by", "week")
        self.assertEqual(printed, "2026-W09       7.0\n2026-W10       7.0\n")
