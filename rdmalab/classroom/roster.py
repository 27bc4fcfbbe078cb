"""A roster: the ids of the students of a class, from a text or the first column of a CSV."""

import csv
from io import StringIO

_HEADS = ("id", "student", "username", "sid", "email")


def ids_of(text: str) -> list[str]:
    """The ids of a roster, each once, in its order; a headline and empty lines are left out."""
    rows = [row[0].strip() for row in csv.reader(StringIO(text)) if row]
    if rows and rows[0].lower() in _HEADS:
        rows = rows[1:]
    return list(dict.fromkeys(row for row in rows if row))
