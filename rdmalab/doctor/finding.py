"""What a check finds: a verdict, the evidence with its events, and what would cure it."""

from dataclasses import dataclass, field
from enum import Enum, IntEnum, auto
from functools import wraps
from typing import TYPE_CHECKING, NamedTuple

from rdmalab.spec.causes import CauseRow, cause_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from rdmalab.doctor.case import Case


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

    Without `since` it is the earliest event of the evidence.
    """

    verdict: Verdict
    evidence: list[Evidence] = field(default_factory=list)
    cure: Fix | None = None
    since: int | None = None

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


def hinders(
    case: "Case", *evidence: Evidence, cure: Fix | None = None, since: int | None = None
) -> Finding:
    """What ended the subject, or prevents its progress.

    The verdict is WAIT if the subject still succeeds without a new call. Otherwise it is FAIL; if
    the user did not ask about it, only WARN, as the next command may correct it.
    """
    if not case.over and case.will_succeed:
        return Finding(Verdict.WAIT, list(evidence), cure or Fix(["run"]), since)
    verdict = Verdict.FAIL if case.over or case.asked else Verdict.WARN
    return Finding(verdict, list(evidence), cure, since)


def unknown(text: str) -> Finding:
    """The facts that the check needs are no longer in the log; `text` names them."""
    return Finding(Verdict.UNKNOWN, [Evidence(text)])


def ok(text: str = "", event: int | None = None) -> Finding:
    """This is not the cause; `text` is the fact that excludes it."""
    return Finding(Verdict.OK, [Evidence(text, event)] if text else [])


NA = Finding(Verdict.NA)
"""The check does not apply to such a case."""


class Section(Enum):
    """The parts of the checklist, in their order."""

    POSTED = "Was it posted, and can it have a completion?"
    QUEUE = "Looking at the right completion queue, in the right way?"
    LOCAL = "The local queue pair and port"
    PROGRESS = "Does the requester make progress?"
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

    @property
    def is_rule(self) -> bool:
        """Whether it only says which rule refused a call."""
        return self.slug not in cause_rows()

    @property
    def article(self) -> str:
        """The words for `explain`: `cause loc-prot`, `rule ah-port`."""
        return f"{'rule' if self.is_rule else 'cause'} {self.slug}"


def check(
    slug: str,
    *,
    asked: bool = False,
    verbs: "Collection[str]" = (),
    **given: "Callable[[Case], object]",
) -> "Callable[[Callable[..., Finding]], Check]":
    """The decorated function examines a case for this cause of `spec/causes.toml`.

    Its parameters are facts by name: `case`, an attribute of the case, or what a function in
    `given` finds. The check does not apply where one of them is None, where the user did not name
    the subject and it is for what is `asked`, or where the call is of none of these `verbs`.
    """

    def declare(examine: "Callable[..., Finding]") -> Check:
        names = examine.__code__.co_varnames[: examine.__code__.co_argcount]

        @wraps(examine)
        def examined(case: "Case") -> Finding:
            of_others = verbs and (case.call is None or case.call.verb not in verbs)
            if of_others or (asked and not case.asked):
                return NA
            facts = []
            for name in names:
                find = given.get(name)
                facts.append(find(case) if find is not None else getattr(case, name))
                if facts[-1] is None:
                    return NA
            return examine(*facts)

        return Check(slug, cause_rows()[slug], examined)

    return declare
