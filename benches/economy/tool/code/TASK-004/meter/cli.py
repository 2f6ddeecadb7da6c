"""The command line."""

import argparse
import datetime
import os
import sys

from meter import book, store


def parser():
    """The arguments that are understood."""
    parser = argparse.ArgumentParser(prog="meter", description="Readings of an electricity meter.")
    parser.add_argument("--file", help="the CSV file (METER_FILE, else ~/meter.csv)")
    commands = parser.add_subparsers(dest="command", required=True)
    add = commands.add_parser("add", help="add a reading")
    add.add_argument("reading", type=whole_number)
    add.add_argument("--date", type=datetime.date.fromisoformat, help="YYYY-MM-DD; today")
    commands.add_parser("list", help="list readings")
    return parser


def whole_number(text):
    """A reading as it is typed."""
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"a reading is a whole number, not {text!r}")
    return int(text)


def file_of(arguments):
    """Where the readings are."""
    named = arguments.file or os.environ.get("METER_FILE")
    return named or os.path.expanduser("~/meter.csv")


def add(arguments):
    """Adds a reading."""
    path = file_of(arguments)
    readings = store.load(path)
    reading = store.Reading(arguments.date or datetime.date.today(), arguments.reading)
    book.add(readings, reading)
    store.save(path, readings)
    print(f"{reading.date} {reading.value}")


def list_all(arguments):
    """Prints the readings with their differences."""
    before = None
    for reading in store.load(file_of(arguments)).items:
        difference = "" if before is None else f"{reading.value - before:+d}"
        print(f"{reading.date} {reading.value:>10} {difference:>8}".rstrip())
        before = reading.value


COMMANDS = {"add": add, "list": list_all}


def main(arguments=None):
    """Runs a command; its exit code."""
    arguments = parser().parse_args(arguments)
    try:
        COMMANDS[arguments.command](arguments)
    except book.Impossible as error:
        return failed(error, 2)
    except (store.BrokenFile, OSError) as error:
        return failed(error, 1)
    return 0


def failed(error, code):
    """Says what is wrong."""
    print(f"meter: {error}", file=sys.stderr)
    return code
