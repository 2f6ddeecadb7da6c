"""A small Forth."""


class ForthError(Exception):
    """A program that cannot be evaluated."""


def evaluate(lines):
    """The stack that these lines of a program leave, the bottom first."""
    raise NotImplementedError
