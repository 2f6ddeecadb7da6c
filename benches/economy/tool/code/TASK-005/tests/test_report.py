import unittest

from tests.test_cli import Case


class Report(Case):
    def setUp(self):
        super().setUp()
        self.meter("add", "100", "--date", "2025-12-22")
        self.meter("add", "140", "--date", "2026-01-11")

    def test_by_month(self):
        self.assertEqual(self.meter("report")[1], "2025-12       20.0\n2026-01       20.0\n")

    def test_by_year(self):
        _, printed, _ = self.meter("report", "--by", "year")
        self.assertEqual(printed, "2025          20.0\n2026          20.0\n")
