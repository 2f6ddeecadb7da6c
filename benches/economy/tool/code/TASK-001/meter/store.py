"""The CSV file that holds the readings."""

import datetime
import os
import tempfile
from dataclasses import dataclass, field

HEADER = "date,reading"


class BrokenFile(Exception):
    """A line that is not understood."""


@dataclass
class Reading:
    """A number on a day, with the comment lines above it."""

    date: datetime.date
    value: int
    comments: list = field(default_factory=list)


@dataclass
class Readings:
    """What the file holds: readings by date, and the comments below the last one."""

    items: list = field(default_factory=list)
    end: list = field(default_factory=list)


def load(path):
    """The readings of a file; none where there is no such file."""
    readings = Readings()
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
    except FileNotFoundError:
        return readings
    comments = []
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            comments.append(line)
        elif line.strip().lower() != HEADER:
            try:
                reading = parsed(line)
            except ValueError as error:
                raise BrokenFile(f"{path}:{number}: {error}") from None
            if readings.items and readings.items[-1].date >= reading.date:
                raise BrokenFile(f"{path}:{number}: {reading.date} is not after the day before")
            reading.comments, comments = comments, []
            readings.items.append(reading)
    readings.end = comments
    return readings


def parsed(line):
    """A line as a reading."""
    fields = [field.strip() for field in line.split(",")]
    if len(fields) != 2:
        raise ValueError(f"expected DATE,READING, found {line.strip()!r}")
    date = datetime.date.fromisoformat(fields[0])
    if not fields[1].isdigit():
        raise ValueError(f"a reading is a whole number, not {fields[1]!r}")
    return Reading(date, int(fields[1]))


def text_of(readings):
    """The file's text."""
    lines = [HEADER]
    for reading in readings.items:
        lines += reading.comments
        lines.append(f"{reading.date.isoformat()},{reading.value}")
    lines += readings.end
    return "\n".join(lines) + "\n"


def save(path, readings):
    """Writes the file whole: it is the old one or the new one at every moment."""
    folder = os.path.dirname(os.path.abspath(path))
    handle, name = tempfile.mkstemp(dir=folder, prefix=".meter-")
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text_of(readings))
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
