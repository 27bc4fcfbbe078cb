"""Log of the work in a lab, for the instructor: hints, answers and `why`, each with its time.

Each entry ends with eight digits of a SHA-256 over it and the entry above it, so that a log that
was edited by hand is noticed. It is no proof: a reader of this module can make another log.
"""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Literal

from pydantic import BaseModel, ConfigDict

_DIGITS = 8
_ENTRY = re.compile(r"(?P<seconds>\d+\.\d)s (?P<what>.+) (?P<mark>[0-9a-f]{8})")
ASKED, SUBMITTED, HINT, ANSWER, LINE = "why", "submit", "hint", "answer", "line"
APPLIED, MOVED = "applied", "moved"
"""First words of entries: the doctor was asked, the work was submitted, and so on."""
LogState = Literal["intact", "edited", "missing"]


class WorkRecord(BaseModel):
    """Counts from the log of a submission; all of it is the student's own statement."""

    model_config = ConfigDict(use_attribute_docstrings=True)

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
    """`intact`, `edited`: an entry was changed or removed, or `missing`: it is empty."""


class WorkLog:
    """The log of a lab that is open. entries: of the work that is continued."""

    def __init__(
        self, entries: Iterable[str] = (), clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.entries = list(entries)
        self._clock = clock
        self._begun = clock() - record(self.entries).seconds

    def add(self, what: str) -> None:
        """Add an entry; what: `line 3`, `hint fix.1`."""
        text = f"{max(0, self._clock() - self._begun):.1f}s {what}"
        before = self.entries[-1] if self.entries else ""
        self.entries.append(f"{text} {_mark(before, text)}")


def _mark(before: str, text: str) -> str:
    return sha256(f"{before}\0{text}".encode()).hexdigest()[:_DIGITS]


def record(entries: Sequence[str], lines: int = 0) -> WorkRecord:
    """The facts in a log. lines: of the submission, each of which a log must have seen.

    Entries that are none count as edited.
    """
    whats = list(_whats(entries))
    seen = [int(what[1]) for what in whats if what[0] == LINE and what[1:2] and what[1].isdecimal()]
    is_whole = _is_chain(entries) and (seen or [0])[-1] >= lines
    times = [float(found["seconds"]) for found in map(_ENTRY.fullmatch, entries) if found]
    return WorkRecord(
        entries=len(entries),
        seconds=max(times, default=0.0),
        asked_why=sum(what[0] == ASKED for what in whats),
        applied=sum(what[0] == APPLIED for what in whats),
        moved=sum(what[0] == MOVED for what in whats),
        submitted=sum(what[0] == SUBMITTED for what in whats),
        state="missing" if not entries else "intact" if is_whole else "edited",
    )


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
