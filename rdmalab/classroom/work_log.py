"""Log of the work in a lab, for the instructor: hints, answers and `why`, each with its time.

Each entry ends with eight digits of a SHA-256 over it and the entry above it, and the first entry
names the student. A submission has check digits over its student, log, lines and answers: so work
that was changed in a text editor is noticed. It is no proof: a reader of this module can compute
all digits.
"""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Literal

from pydantic import BaseModel

from rdmalab.classroom.instructor_model import Submission
from rdmalab.views import fmt

_DIGITS = 8
_SHORT = 4  # digits of one line or answer in `check`
_MOST = 3  # lines that a complaint names
_ENTRY = re.compile(r"(?P<seconds>\d+\.\d)s (?P<what>.+) (?P<mark>[0-9a-f]{8})")
ASKED, SUBMITTED, HINT, ANSWER, LINE = "why", "submit", "hint", "answer", "line"
APPLIED, MOVED = "applied", "moved"
STUDENT, EDITED = "student", "edited"
"""First words of entries: the doctor was asked, the work was submitted, and so on."""
LogState = Literal["intact", "unchecked", "edited", "missing"]
WHOLE = ("intact", "unchecked")
"""The states of a log whose entries count."""


class WorkRecord(BaseModel, use_attribute_docstrings=True):
    """Counts from the log of a submission; all of it is the student's own statement."""

    entries: int
    seconds: float
    """From the opening of the lab to the last entry, without the time in which it was closed."""
    asked_why: int
    """Number of times that the doctor was asked."""
    applied: int = 0
    """Number of times that a fix was applied, also where that was undone later."""
    moved: int = 0
    """Number of jumps of the student to another moment: what is undone stands in no line."""
    submitted: int
    state: LogState
    """`intact`, `unchecked`: whole, but of an older version without check digits of the work,
    `edited`: the work or an entry was changed, or `missing`: it is empty."""
    edits: list[str] = []
    """Each difference between the log and the work: `line 2 is not the line that was logged`."""
    student: str = ""
    """Student that the log names; empty: it is of an older version."""
    mark: str = ""
    """Digits of the last entry, which depend on all entries."""


class WorkLog:
    """The log of a lab that is open. entries: of the work that is continued.

    student: named by the first entry of a new log; empty: it names none.
    """

    def __init__(
        self, entries: Iterable[str] = (), clock: Callable[[], float] = time.monotonic,
        student: str = "",
    ) -> None:  # fmt: skip
        self.entries = list(entries)
        self._student = student
        self._clock = clock
        self._begun = clock() - record(self.entries).seconds

    def add(self, what: str) -> None:
        """Add an entry; what: `line 3`, `hint fix.1`."""
        at = f"{max(0, self._clock() - self._begun):.1f}s"
        if self._student and not self.entries:
            self._append(f"{at} {STUDENT} {self._student}")
        self._append(f"{at} {what}")

    def _append(self, text: str) -> None:
        before = self.entries[-1] if self.entries else ""
        self.entries.append(f"{text} {_mark(before, text)}")


def _mark(before: str, text: str) -> str:
    return sha256(f"{before}\0{text}".encode()).hexdigest()[:_DIGITS]


def record(entries: Sequence[str], lines: int = 0, edits: Iterable[str] = ()) -> WorkRecord:
    """The facts in a log. lines: of the submission, each of which a log must have seen.

    edits: what `differences` has found. Entries that are none count as edited.
    """
    whats = list(_whats(entries))
    seen = [int(what[1]) for what in whats if what[0] == LINE and what[1:2] and what[1].isdecimal()]
    found = [*edits, *(" ".join(what[1:]) for what in whats if what[0] == EDITED)]
    if not _is_chain(entries):
        found.append("an entry of the log was changed or removed")
    if entries and (newest := (seen or [0])[-1]) < lines:
        found.append(f"line {newest + 1} is not in the log")
    times = [float(found["seconds"]) for found in map(_ENTRY.fullmatch, entries) if found]
    student = _student(entries)
    whole: LogState = "intact" if student else "unchecked"
    return WorkRecord(
        entries=len(entries),
        seconds=max(times, default=0.0),
        asked_why=sum(what[0] == ASKED for what in whats),
        applied=sum(what[0] == APPLIED for what in whats),
        moved=sum(what[0] == MOVED for what in whats),
        submitted=sum(what[0] == SUBMITTED for what in whats),
        state="missing" if not entries else "edited" if found else whole,
        edits=found if entries else [],
        student=student,
        mark=entries[-1][-_DIGITS:] if entries else "",
    )


def _student(entries: Sequence[str]) -> str:
    """The student that the first entry names; empty: it names none."""
    first = next(_whats(entries[:1]), [])
    return first[1] if first[:1] == [STUDENT] and len(first) > 1 else ""


# --------------------------------------------------------------------------- check digits
def sealed(work: Submission) -> Submission:
    """The work with its check digits; as it is where its log is that of an older version."""
    student = _student(work.log)
    return work.model_copy(update={"check": _check(work, student) if student else None})


def differences(work: Submission) -> list[str]:
    """Each difference between a work and its log: what a text editor has changed.

    Empty if there is none, or if the log is that of an older version, without check digits.
    """
    student = _student(work.log)
    if not student:
        return []
    found = [] if student == work.student else [f"the log is that of {student}"]
    now = _check(work, student)
    if work.check == now:
        return found
    if not work.check:
        return [*found, "the check digits are missing, which only older versions do not write"]
    (_, *before), (_, *after) = work.check.split("/"), now.split("/")
    if len(before) != len(after):
        return [*found, "the check digits were changed"]
    lines = _changed(before[0], after[0])
    answers = _changed(before[1], after[1])
    names = list(work.answers)
    found += _named([f"line {n + 1} is not the line that was logged" for n in lines])
    if len(before[1]) != len(after[1]):
        found.append("answers were added or removed")
    else:
        found += [f"the answer to {names[n]} is not the one that was logged" for n in answers]
    return found or ["the log is not the one with which the work was written"]


def _check(work: Submission, student: str) -> str:
    """Eight digits over all of the work, four for each line, and four for each answer.

    Of blanks only their places count: YAML does not keep each of them.
    """
    lines = [(str(number), " ".join(text.split())) for number, text in enumerate(work.lines, 1)]
    answers = [(name, " ".join(text.split())) for name, text in work.answers.items()]
    parts = [
        "".join(_mark(f"{student}\0{name}", text)[:_SHORT] for name, text in pairs)
        for pairs in (lines, answers)
    ]
    whole = repr((student, work.log[-1], lines, answers))
    return "/".join([_mark("", whole), *parts])


def _changed(before: str, after: str) -> list[int]:
    """The numbers, from 0, at which two rows of digits differ; of different lengths the first."""
    most = max(len(before), len(after))
    found = [
        at // _SHORT for at in range(0, most, _SHORT)
        if before[at : at + _SHORT] != after[at : at + _SHORT]
    ]  # fmt: skip
    return found if len(before) == len(after) else found[:1]


def _named(found: list[str]) -> list[str]:
    """The first of these, and how many others there are."""
    more = len(found) - _MOST
    return [*found[:_MOST], *([f"and {fmt.count(more, 'more line')}"] if more > 0 else [])]


def hints_of(entries: Sequence[str]) -> list[str]:
    """The hints that a log shows as taken: `fix.1`."""
    return [what[1] for what in _whats(entries) if what[0] == HINT and len(what) > 1]


def tries_of(entries: Sequence[str], task: str) -> list[str]:
    """The answers that a log shows for a task, each once, in the order in which they were given."""
    tries = [what[2] for what in _whats(entries) if what[:2] == [ANSWER, task] and len(what) > 2]
    return list(dict.fromkeys(tries))


def was_noted(entries: Sequence[str], task: str) -> bool:
    """Whether the last answer to a task was taken without a verdict: the entry has no number."""
    answers = [what for what in _whats(entries) if what[:2] == [ANSWER, task]]
    return bool(answers) and len(answers[-1]) == 2


def _whats(entries: Sequence[str]) -> Iterator[list[str]]:
    """The words of each entry, without its time and its digits."""
    return (found["what"].split() for found in map(_ENTRY.fullmatch, entries) if found)


def _is_chain(entries: Sequence[str]) -> bool:
    pairs = zip(["", *entries], entries, strict=False)
    marks = [_mark(before, entry[: -_DIGITS - 1]) for before, entry in pairs]
    found = [_ENTRY.fullmatch(entry) for entry in entries]
    return [match and match["mark"] for match in found] == marks
