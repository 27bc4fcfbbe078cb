"""Grade many submissions: in worker processes, resumable, no grade lost and none twice."""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import TextIO

from rdmalab.classroom import submission
from rdmalab.classroom.grade_document import Grade
from rdmalab.classroom.judging import Work, grade
from rdmalab.classroom.lab_file import LabFile, loads
from rdmalab.classroom.playing import Verdict
from rdmalab.classroom.public import digest
from rdmalab.jobs.limits import Limits
from rdmalab.jobs.outcome import Ending, Outcome, Pool
from rdmalab.scenario.source import FileError
from rdmalab.version import VERSION
from rdmalab.vocabulary import VOCABULARY

_LABS = 64  # worlds of labs that a worker keeps: one for each student and each value of `vary`


@dataclass(frozen=True, slots=True)
class Item:
    """One submission to be graded. name: of its file. student: by the roster, empty: its own."""

    lab: str
    lab_path: str
    text: str
    name: str
    salt: str = ""
    student: str = ""
    public: bool = False

    @property
    def key(self) -> str:
        """The same for the same work: the lab, the engine and what was handed in."""
        parts = (VERSION, self.lab, self.salt, self.student, str(self.public), self.text)
        return sha256("\0".join(parts).encode()).hexdigest()


@lru_cache(maxsize=_LABS)
def _lab(
    text: str, path: str, student: str, salt: str, world: tuple[tuple[str, str], ...]
) -> LabFile:
    return loads(text, path, VOCABULARY, student=student, salt=salt, world=dict(world))


def graded(item: Item, _limits: Limits) -> str:
    """The grade of one submission, as JSON; the work of a pool."""
    return grade_of(item).model_dump_json()


def grade_of(item: Item) -> Grade:
    """The grade of one submission; what cannot be read is `unreadable`, and never passes."""
    work = submission.fingerprint(item.text)
    try:
        given = submission.loads(item.text, item.name)
    except FileError as wrong:
        return _ungraded(item, Verdict.UNREADABLE, str(wrong))
    student = item.student or given.student
    try:
        lab = _lab(item.lab, item.lab_path, student, item.salt, ())
    except FileError as wrong:
        return _ungraded(item, Verdict.NOT_GRADED, str(wrong))
    if reason := _other_lab(lab, given.lab):
        return _ungraded(item, Verdict.UNREADABLE, reason)

    def reopen(world: Mapping[str, str]) -> LabFile:
        values = tuple(sorted(world.items()))
        return _lab(item.lab, item.lab_path, student, item.salt, values)

    found = grade(lab, Work(given.lines, given.answers, given.hints), reopen, public=item.public)
    found.student, found.work, found.file = student, work, item.name
    return found


def _other_lab(lab: LabFile, named: str) -> str:
    """Why a submission is not one of this lab; empty if it is."""
    name, _, version = named.partition(" ")
    if name != lab.document.id:
        return f"this is a submission of the lab {name}, not of {lab.document.id}"
    if version and version != digest(lab):
        return f"this is for another version of the lab: {version}, now {digest(lab)}"
    return ""


def _ungraded(item: Item, verdict: Verdict, reason: str) -> Grade:
    return Grade(
        student=item.student, file=item.name, verdict=verdict.value, reason=reason,
        work=submission.fingerprint(item.text),
    )  # fmt: skip


# --------------------------------------------------------------------------- many
def grades(
    items: Sequence[Item],
    pool: Pool,
    known: Mapping[str, Grade],
    keep: Callable[[str, Grade], None],
) -> Iterator[tuple[Item, Grade]]:
    """The grade of each item, in the order in which they end; those known come first.

    keep: stores a new grade by the key of its item before it is returned.
    """
    new: dict[str, Item] = {}
    for item in items:
        if item.key in known:
            yield item, known[item.key]
        else:
            new[item.key] = item
    left = list(new.values())
    for outcome in pool.results(graded, left):
        item = left[outcome.number]
        found = _of_outcome(item, outcome)
        keep(item.key, found)
        yield item, found


def _of_outcome(item: Item, outcome: Outcome[str]) -> Grade:
    if outcome.ending is Ending.DONE and outcome.value is not None:
        return Grade.model_validate_json(outcome.value)
    verdict = Verdict.CUT if outcome.ending is Ending.CUT else Verdict.NOT_GRADED
    return _ungraded(item, verdict, outcome.reason)


class Ledger:
    """Grades in a file, one JSON line each, written to the disk before the next is asked for."""

    def __init__(self, file: TextIO | None) -> None:
        """File None: nothing is kept."""
        self.file = file

    def keep(self, key: str, found: Grade) -> None:
        """Append a grade."""
        if self.file is None:
            return
        self.file.write(json.dumps({"key": key, "grade": found.model_dump()}) + "\n")
        self.file.flush()
        os.fsync(self.file.fileno())


def known_in(text: str) -> dict[str, Grade]:
    """The grades of a ledger by key; a torn last line is left out, and what was not judged."""
    found: dict[str, Grade] = {}
    for line in text.splitlines():
        try:
            row = json.loads(line)
            kept = Grade.model_validate(row["grade"])
        except (ValueError, KeyError, TypeError):
            continue
        if kept.verdict != Verdict.NOT_GRADED.value:
            found[row["key"]] = kept
    return found
