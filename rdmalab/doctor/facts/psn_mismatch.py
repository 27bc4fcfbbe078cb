"""Two ends whose first PSNs differ: sq_psn of the sender, rq_psn of the receiver."""

from collections.abc import Callable

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts.bring_up import Ends, began_alone, ends, psn_gap, set_at, stays_unanswered
from rdmalab.doctor.facts.partners import mistaken
from rdmalab.doctor.finding import NA, Evidence, Finding, Fix, fact, hinders, ok
from rdmalab.doctor.fixes import recovery
from rdmalab.spec.states import Attr
from rdmalab.views import fmt

_SAID_AS = {"rq_psn": "0", "sq_psn": "0"}


def examine(case: Case, sign: int, seen: Callable[[Case, Ends], list[Evidence]]) -> Finding:
    """Whether sq_psn and rq_psn differ in this direction, and the send has no answer for it.

    sign: 1 if the sender is ahead of the expected PSN, -1 if it is lower. seen: the evidence.
    """
    send, both = case.send, ends(case)
    if send is None or send.wqe is None or both is None or not both.sender.transport.acknowledged:
        return NA
    if both.receiver.path is None:
        return NA  # it was reset: its attributes are gone
    if mistaken(case.world, both.sender) is not None:
        return ok("they were not connected to each other")
    gap = psn_gap(both) * sign
    if gap <= 0 or began_alone(case, both) is not None:
        return ok(f"first packet number {_number(both.sender.attr.sq_psn)}on both ends")
    if not stays_unanswered(case):
        return ok("the PSNs match now")
    return hinders(
        case, *_first_psns(case, both), *seen(case, both)[:1],
        cure=Fix(recovery.reconnected(case, both.sender, send.wqe.wr, _SAID_AS, _SAID_AS)),
        since=max((e.event for e in _first_psns(case, both) if e.event is not None), default=None),
    )  # fmt: skip


def _first_psns(case: Case, both: Ends) -> list[Evidence]:
    sender, receiver = both
    return [
        fact(f"{case.qp_name(sender)} was given sq_psn={_number(sender.attr.sq_psn)}",
             set_at(case, sender, Attr.SQ_PSN)),
        fact(f"{case.qp_name(receiver)} was given rq_psn={_number(receiver.attr.rq_psn)}",
             set_at(case, receiver, Attr.RQ_PSN)),
    ]  # fmt: skip


def _number(psn: int | None) -> str:
    return fmt.number(psn or 0)
