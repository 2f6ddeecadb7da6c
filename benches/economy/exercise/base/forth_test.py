import unittest

from forth import ForthError, evaluate


class Numbers(unittest.TestCase):
    def test_numbers_are_pushed(self):
        self.assertEqual(evaluate(["1 2 3", "-4"]), [1, 2, 3, -4])


class Arithmetic(unittest.TestCase):
    def test_each_operator(self):
        self.assertEqual(evaluate(["1 2 +", "5 3 -", "2 4 *", "7 2 /"]), [3, 2, 8, 3])

    def test_division_rounds_towards_zero(self):
        self.assertEqual(evaluate(["-7 2 /"]), [-3])

    def test_division_by_zero(self):
        with self.assertRaisesRegex(ForthError, "^divide by zero$"):
            evaluate(["4 0 /"])

    def test_too_few_numbers(self):
        for program in ["+", "1 -", "dup", "drop", "1 swap", "1 over"]:
            with self.assertRaisesRegex(ForthError, "^stack underflow$"):
                evaluate([program])


class Stack(unittest.TestCase):
    def test_words_of_the_stack(self):
        self.assertEqual(evaluate(["1 dup"]), [1, 1])
        self.assertEqual(evaluate(["1 2 drop"]), [1])
        self.assertEqual(evaluate(["1 2 swap"]), [2, 1])
        self.assertEqual(evaluate(["1 2 over"]), [1, 2, 1])


class Definitions(unittest.TestCase):
    def test_a_word_is_what_it_was_when_used(self):
        self.assertEqual(evaluate([": foo 5 ;", ": bar foo ;", ": foo 6 ;", "bar foo"]), [5, 6])

    def test_a_word_may_be_defined_by_itself(self):
        self.assertEqual(evaluate([": foo 10 ;", ": foo foo 1 + ;", "foo"]), [11])

    def test_operators_can_be_redefined(self):
        self.assertEqual(evaluate([": + * ;", "3 4 +"]), [12])

    def test_case_does_not_matter(self):
        self.assertEqual(evaluate([": Foo DUP ;", "1 fOO Dup"]), [1, 1, 1])

    def test_numbers_cannot_be_defined(self):
        with self.assertRaisesRegex(ForthError, "^illegal operation$"):
            evaluate([": 1 2 ;"])

    def test_unfinished_definition(self):
        with self.assertRaisesRegex(ForthError, "^unfinished definition$"):
            evaluate([": foo 1"])

    def test_unknown_word(self):
        with self.assertRaisesRegex(ForthError, "^undefined operation$"):
            evaluate(["foo"])


if __name__ == "__main__":
    unittest.main()
