"""What was done in a lab and when, for the instructor; nothing is judged by it.

Each entry ends with eight digits of a SHA-256 over it and the entry above it, so that a log that
was edited by hand is noticed. It is no proof: a reader of this module can make another log.
"""

import re
import time
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256

from pydantic import BaseModel, ConfigDict

_DIGITS = 8
_ENTRY = re.compile(r"(?P<seconds>\d+\.\d)s (?P<what>.+) (?P<mark>[0-9a-f]{8})")
ASKED, SUBMITTED = "why", "submit"
"""What an entry begins with when the doctor was asked, and when the work was submitted."""


class WorkRecord(BaseModel):
    """What the log of a submission says; all of it is the student's own statement."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    entries: int
    seconds: float
    """From the opening of the lab to the last entry, without the time in which it was closed."""
    asked_why: int
    """How often the doctor was asked."""
    submitted: int
    is_intact: bool
    """False: the log was edited."""


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


def record(entries: Sequence[str]) -> WorkRecord:
    """What a log says; entries that are none count as edited."""
    found = [_ENTRY.fullmatch(entry) for entry in entries]
    known = [match for match in found if match is not None]
    pairs = zip(["", *entries], entries, strict=False)
    marks = [_mark(before, entry[: -_DIGITS - 1]) for before, entry in pairs]
    whats = [match["what"].split()[0] for match in known]
    return WorkRecord(
        entries=len(entries),
        seconds=max((float(match["seconds"]) for match in known), default=0.0),
        asked_why=whats.count(ASKED),
        submitted=whats.count(SUBMITTED),
        is_intact=[match and match["mark"] for match in found] == marks,
    )
