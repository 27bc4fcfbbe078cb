"""The pydantic model of a course: labs with their due dates and weights, and the roster."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from rdmalab.classroom.attempts import KEEPS, Keep, due_at
from rdmalab.classroom.parameter_model import Percent
from rdmalab.grammar.hints import listed, quoted
from rdmalab.scenario import field_types
from rdmalab.scenario.fabric import Section

KIND = "course"
MOST_LABS = 100


def _due(value: object) -> datetime:
    hint = 'write 2026-11-30, or "2026-11-30 18:00"'
    if not isinstance(value, str):
        raise field_types.wrong("a date is required here", hint)
    try:
        return due_at(value)
    except ValueError:
        raise field_types.wrong(f"{quoted(value)} is not a date", hint) from None


def _keep(value: object) -> str:
    if value not in KEEPS:
        given = quoted(value) if isinstance(value, str) else "this"
        message = f"{given} is not a rule for several works of a student"
        raise field_types.wrong(message, listed(list(KEEPS)))
    return str(value)


_DATE = WithJsonSchema({"type": "string", "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}"})
Due = Annotated[datetime, BeforeValidator(_due), _DATE]
Kept = Annotated[Keep, BeforeValidator(_keep), WithJsonSchema({"enum": list(KEEPS)})]
Weight = Annotated[int, *field_types.integer(0, 1000, "write 1")]


class CourseLab(Section):
    """A lab of the course."""

    lab: field_types.Sentence
    """The lab's file, from the folder of this file, or the name of a lab of the program."""
    works: field_types.Sentence
    """The folder with what was handed in, such as an unpacked download of Moodle."""
    due: Due | None = None
    """Works whose file is newer are late: a date, which means its end, or date and time."""
    weight: Weight = 1
    """Its part of the total, beside the weights of the other labs."""
    penalty: Percent | None = None
    """As `penalty` of the course, for this lab."""
    keep: Kept | None = None
    """As `keep` of the course, for this lab."""


class Course(Section):
    """A course: its labs, its students, and how works are counted."""

    rdmalab: field_types.Version
    """Version of the format; the first key."""
    kind: Literal["course"]
    """`course`."""
    title: field_types.Sentence
    """One line."""
    roster: field_types.Sentence
    """The file with the students: ids, or a table of Moodle, Canvas or Gradescope."""
    salt: field_types.Sentence | None = None
    """The salt of all labs, with which `rdmalab lab publish --salt` has published them."""
    keep: Kept = "newest"
    """The work of a student that counts, among several: `newest` or `best`."""
    penalty: Percent = 0
    """Per cent of the score that a work loses for each day that begins after its due date."""
    remarks: field_types.Sentence = "remarks.csv"
    """The table of remarks and points given by hand; it is made if there is none."""
    out: field_types.Sentence = "marks"
    """The folder for grades, gradebook and reports."""
    labs: Annotated[list[CourseLab], Field(min_length=1, max_length=MOST_LABS)]
    """The labs, in the order of the course."""
