"""What a check finds: a verdict, the evidence with its events, and what would cure it."""

from dataclasses import dataclass, field
from enum import Enum, IntEnum, auto
from typing import TYPE_CHECKING, NamedTuple

from rdmalab.spec.causes import CauseRow, cause_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdmalab.doctor.case import Case


class Verdict(IntEnum):
    """What a check says of a case."""

    FAIL = auto()  # this is a cause
    WARN = auto()  # this is suspicious, or will bite one day
    WAIT = auto()  # nothing is wrong: let time pass
    UNKNOWN = auto()  # what it takes to know is not there any more
    OK = auto()  # this is not it
    NA = auto()  # it does not concern such a case


class Evidence(NamedTuple):
    """One fact. event: where it stands in the log; None: it is so now."""

    text: str
    event: int | None = None


@dataclass(slots=True)
class Fix:
    """Commands that make it good, or in `program` what only the program's author can change."""

    lines: list[str] = field(default_factory=list)
    program: str = ""


@dataclass(slots=True)
class Finding:
    """What one check says of one case. since: the event in which the cause came into the world.

    Without `since` it is the earliest event of the evidence.
    """

    verdict: Verdict
    evidence: list[Evidence] = field(default_factory=list)
    cure: Fix | None = None
    since: int | None = None

    @property
    def origin(self) -> int:
        """By which causes are put in order."""
        events = [each.event for each in self.evidence if each.event is not None]
        return self.since if self.since is not None else min(events, default=-1)


def said(text: str, event: int | None = None) -> Evidence:
    """A fact, and where it stands in the log."""
    return Evidence(text, event)


def fail(*evidence: Evidence, cure: Fix | None = None, since: int | None = None) -> Finding:
    """This is a cause."""
    return Finding(Verdict.FAIL, list(evidence), cure, since)


def warn(*evidence: Evidence, cure: Fix | None = None) -> Finding:
    """Suspicious."""
    return Finding(Verdict.WARN, list(evidence), cure)


def wait(*evidence: Evidence, cure: Fix | None = None) -> Finding:
    """Nothing is wrong yet."""
    return Finding(Verdict.WAIT, list(evidence), cure)


def hinders(
    case: "Case", *evidence: Evidence, cure: Fix | None = None, since: int | None = None
) -> Finding:
    """What brought the subject to its end, or stands in its way.

    What is not over yet is to be waited out if it ends well by itself. Else it is a cause; where
    nobody asked only a suspicion, as the next command may mend it.
    """
    if not case.over and case.comes:
        return Finding(Verdict.WAIT, list(evidence), cure or Fix(["run"]), since)
    verdict = Verdict.FAIL if case.over or case.asked else Verdict.WARN
    return Finding(verdict, list(evidence), cure, since)


def unknown(text: str) -> Finding:
    """What it takes to know is not there any more."""
    return Finding(Verdict.UNKNOWN, [Evidence(text)])


def ok(text: str = "", event: int | None = None) -> Finding:
    """This is not it; `text` says what speaks against it."""
    return Finding(Verdict.OK, [Evidence(text, event)] if text else [])


NA = Finding(Verdict.NA)
"""It does not concern such a case."""


class Section(Enum):
    """The parts of the checklist, in their order."""

    POSTED = "Was it posted, can it complete visibly at all?"
    QUEUE = "Looking at the right completion queue, in the right way?"
    LOCAL = "The own queue pair and port"
    PROGRESS = "Does the requester get on?"
    PEER = "Is the peer there?"
    RECEIVE = "The receive side"
    ERROR = "A completion came, but with an error"
    WRONG = "Completed with success, yet wrong"


@dataclass(slots=True, frozen=True)
class Check:
    """A cause of the table, and the function that examines a case for it."""

    slug: str
    row: CauseRow
    examine: "Callable[[Case], Finding]"

    @property
    def section(self) -> Section:
        """The part of the checklist in which it stands."""
        return Section[self.row.section]


def check(slug: str) -> "Callable[[Callable[[Case], Finding]], Check]":
    """The decorated function examines a case for this cause of `spec/causes.toml`."""

    def declare(examine: "Callable[[Case], Finding]") -> Check:
        return Check(slug, cause_rows()[slug], examine)

    return declare
