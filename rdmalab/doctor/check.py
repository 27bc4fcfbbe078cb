"""A check: a cause of the table, and the function that examines a case for it.

Who writes a check imports the words of what it finds from here.
"""

from collections.abc import Callable, Collection
from dataclasses import field
from enum import Enum
from functools import wraps
from typing import TypeVar

from rdmalab.doctor.case import Case, QueuePair, Send
from rdmalab.doctor.evidence.finding import NA as NA
from rdmalab.doctor.evidence.finding import Evidence as Evidence
from rdmalab.doctor.evidence.finding import Finding as Finding
from rdmalab.doctor.evidence.finding import Fix as Fix
from rdmalab.doctor.evidence.finding import Verdict as Verdict
from rdmalab.doctor.evidence.finding import fact as fact
from rdmalab.doctor.evidence.finding import fail as fail
from rdmalab.doctor.evidence.finding import ok as ok
from rdmalab.doctor.evidence.finding import unknown as unknown
from rdmalab.doctor.evidence.finding import wait as wait
from rdmalab.doctor.evidence.finding import warn as warn
from rdmalab.spec.causes import CauseRow, cause_rows
from rdmalab.spec.row import dataclass


def blocking(
    case: Case, *evidence: Evidence, cure: Fix | None = None, since: int | None = None
) -> Finding:
    """A finding that says why the subject ended, or does not go on.

    The verdict is WAIT if the subject still succeeds without a new call. Otherwise it is FAIL; if
    the user did not ask about it, only WARN, as the next command may correct it.
    """
    if not case.has_ended and case.will_succeed:
        return Finding(Verdict.WAIT, list(evidence), cure or Fix(["run"]), since)
    verdict = Verdict.FAIL if case.has_ended or case.asked else Verdict.WARN
    return Finding(verdict, list(evidence), cure, since)


class ChecklistSection(Enum):
    """The parts of the checklist, in their order."""

    POSTED = "Was it posted, and can it have a completion?"
    QUEUE = "Looking at the right completion queue, in the right way?"
    LOCAL = "The local queue pair and port"
    PROGRESS = "Does the requester make progress?"
    PEER = "Is the peer there?"
    RECEIVE = "The receive side"
    ERROR = "A completion came, but with an error"
    WRONG = "Completed with success, yet wrong"


Examine = TypeVar("Examine", bound=Callable[..., Finding | None])


@dataclass(slots=True, frozen=True)
class Check:
    """A cause of the table, and the function that examines a case for it.

    instead_of: the functions that are asked before it.
    """

    slug: str
    row: CauseRow
    examine: Callable[[Case], Finding]
    instead_of: list[Callable[..., Finding | None]] = field(default_factory=list, compare=False)

    @property
    def section(self) -> ChecklistSection:
        """The part of the checklist in which it stands."""
        return ChecklistSection[self.row.section]

    @property
    def is_rule(self) -> bool:
        """Whether it only says which rule refused a call."""
        return self.slug not in cause_rows()

    @property
    def article(self) -> str:
        """The words for `explain`: `cause loc-prot`, `rule ah-port`."""
        return f"{'rule' if self.is_rule else 'cause'} {self.slug}"

    def instead(self, examine: Examine) -> Examine:
        """The decorated function examines the cases that have its facts, before the check does.

        Its parameters are facts as those of the check are; where it returns None, the check
        examines the case itself.
        """
        self.instead_of.append(examine)
        return examine


def check(
    slug: str,
    *,
    asked: bool = False,
    verbs: Collection[str] = (),
    **given: Callable[[Case], object],
) -> Callable[[Callable[..., Finding]], Check]:
    """The decorated function examines a case for this cause of `spec/causes.toml`.

    Its parameters are facts by name: `case`, an attribute of the case, or what a function in
    `given` finds. The check does not apply where one of them is None, where the user did not name
    the subject and it is for what is `asked`, or where the call is of none of these `verbs`.
    """

    def declare(examine: Callable[..., Finding]) -> Check:
        @wraps(examine)
        def examined(case: Case) -> Finding:
            of_others = verbs and (case.call is None or case.call.verb not in verbs)
            if of_others or (asked and not case.asked):
                return NA
            tried = (_examined(each, case, given) for each in (*declared.instead_of, examine))
            return next((found for found in tried if found is not None), NA)

        declared = Check(slug, cause_rows()[slug], examined)
        return declared

    return declare


def acknowledged(case: Case) -> QueuePair | None:
    """The queue pair; None if its transport acknowledges nothing."""
    return case.qp if case.qp is not None and case.qp.transport.acknowledged else None


def waiting(case: Case) -> Send | None:
    """The send; None if it is no longer on its queue."""
    return case.send if case.send is not None and case.send.on_queue else None


def _examined(
    examine: Callable[..., Finding | None], case: Case, given: dict[str, Callable[[Case], object]]
) -> Finding | None:
    """Finding of the function from its facts of the case; None without one of them."""
    facts = []
    for name in examine.__code__.co_varnames[: examine.__code__.co_argcount]:
        find = given.get(name)
        facts.append(find(case) if find is not None else getattr(case, name))
        if facts[-1] is None:
            return None
    return examine(*facts)
