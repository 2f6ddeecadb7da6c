"""A small Forth."""


class ForthError(Exception):
    """A program that cannot be evaluated."""


def take(stack, count):
    """The topmost numbers, the deepest first, off the stack."""
    if len(stack) < count:
        raise ForthError("stack underflow")
    taken = stack[len(stack) - count:]
    del stack[len(stack) - count:]
    return taken


def add(stack):
    a, b = take(stack, 2)
    stack.append(a + b)


def subtract(stack):
    a, b = take(stack, 2)
    stack.append(a - b)


def multiply(stack):
    a, b = take(stack, 2)
    stack.append(a * b)


def divide(stack):
    a, b = take(stack, 2)
    if b == 0:
        raise ForthError("divide by zero")
    quotient = abs(a) // abs(b)
    stack.append(quotient if (a < 0) == (b < 0) else -quotient)


def dup(stack):
    (a,) = take(stack, 1)
    stack += [a, a]


def drop(stack):
    take(stack, 1)


def swap(stack):
    a, b = take(stack, 2)
    stack += [b, a]


def over(stack):
    a, b = take(stack, 2)
    stack += [a, b, a]


BUILT_IN = {
    "+": add,
    "-": subtract,
    "*": multiply,
    "/": divide,
    "dup": dup,
    "drop": drop,
    "swap": swap,
    "over": over,
}


def number(word):
    """The number a word is, or None."""
    digits = word[1:] if word[:1] in "+-" else word
    return int(word) if digits.isdigit() else None


def push(value):
    """A step that puts a number on the stack."""
    return lambda stack: stack.append(value)


def compiled(word, words):
    """The steps a word stands for at present."""
    value = number(word)
    if value is not None:
        return [push(value)]
    if word not in words:
        raise ForthError("undefined operation")
    return words[word]


def define(tokens, words):
    """Takes a definition, without its colon, off the tokens."""
    name = next(tokens, None)
    if name is None:
        raise ForthError("unfinished definition")
    if number(name) is not None:
        raise ForthError("illegal operation")
    steps = []
    for word in tokens:
        if word == ";":
            words[name] = steps
            return
        steps += compiled(word, words)
    raise ForthError("unfinished definition")


def evaluate(lines):
    """The stack that these lines of a program leave, the bottom first."""
    words = {name: [step] for name, step in BUILT_IN.items()}
    stack = []
    for line in lines:
        tokens = iter(line.lower().split())
        for word in tokens:
            if word == ":":
                define(tokens, words)
                continue
            for step in compiled(word, words):
                step(stack)
    return stack
