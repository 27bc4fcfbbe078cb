"""The finding of a check: a verdict, the evidence with its events, and a fix."""

from dataclasses import field
from enum import IntEnum, auto
from typing import NamedTuple

from rdmalab.spec.row import dataclass


class Verdict(IntEnum):
    """The result of a check for a case."""

    FAIL = auto()  # this is a cause
    WARN = auto()  # this is suspicious, or can cause a failure later
    WAIT = auto()  # nothing is wrong: let time pass
    UNKNOWN = auto()  # the facts that the check needs are no longer in the log
    OK = auto()  # this is not it
    NA = auto()  # the check does not apply to such a case


class Evidence(NamedTuple):
    """One fact. event: its event in the log; None: it is the state now."""

    text: str
    event: int | None = None


@dataclass(slots=True)
class Fix:
    """Commands that make it good, or in `program` what only the program's author can change.

    Both: commands of a moment of the past, and in `program` the decisive one. note: what the
    commands do otherwise than the program wanted. before: the event instead of which the commands
    are to be carried out; they are tried on a copy from before it.
    """

    lines: list[str] = field(default_factory=list)
    program: str = ""
    note: str = ""
    before: int | None = None


@dataclass(slots=True)
class Finding:
    """The result of one check for one case. since: the event at which the cause began.

    Without `since` it is the earliest event of the evidence. told_by: the check that reports the
    same fact; `why` shows that one, `checklist` shows both.
    """

    verdict: Verdict
    evidence: list[Evidence] = field(default_factory=list)
    cure: Fix | None = None
    since: int | None = None
    told_by: str = ""

    @property
    def origin(self) -> int:
        """The event by which causes are sorted; -1 if there is none."""
        events = [each.event for each in self.evidence if each.event is not None]
        return self.since if self.since is not None else min(events, default=-1)


def fact(text: str, event: int | None = None) -> Evidence:
    """A fact, and its event in the log."""
    return Evidence(text, event)


def fail(*evidence: Evidence, cure: Fix | None = None, since: int | None = None) -> Finding:
    """This is a cause."""
    return Finding(Verdict.FAIL, list(evidence), cure, since)


def warn(*evidence: Evidence, cure: Fix | None = None) -> Finding:
    """Suspicious."""
    return Finding(Verdict.WARN, list(evidence), cure)


def wait(*evidence: Evidence, cure: Fix | None = None, since: int | None = None) -> Finding:
    """Nothing is wrong yet."""
    return Finding(Verdict.WAIT, list(evidence), cure, since)


def unknown(text: str) -> Finding:
    """The facts that the check needs are no longer in the log; `text` names them."""
    return Finding(Verdict.UNKNOWN, [Evidence(text)])


def ok(text: str = "", event: int | None = None) -> Finding:
    """This is not the cause; `text` is the fact that excludes it."""
    return Finding(Verdict.OK, [Evidence(text, event)] if text else [])


NA = Finding(Verdict.NA)
"""The check does not apply to such a case."""
