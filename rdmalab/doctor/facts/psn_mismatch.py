"""Two ends that were told different first packet numbers, one ahead of the other or behind it."""

from collections.abc import Callable

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts.bring_up import Ends, began_alone, ends, is_in_vain, psn_gap, told
from rdmalab.doctor.facts.partners import mistaken
from rdmalab.doctor.finding import NA, Evidence, Finding, Fix, hinders, ok, said
from rdmalab.doctor.fixes import recovery
from rdmalab.spec.states import Attr
from rdmalab.views import fmt

_SAID_AS = {"rq_psn": "0", "sq_psn": "0"}


def examine(case: Case, sign: int, seen: Callable[[Case, Ends], list[Evidence]]) -> Finding:
    """sign: 1 if the sender is ahead of what is expected, -1 if it is behind.

    seen: finds what came of it.
    """
    send, both = case.send, ends(case)
    if send is None or send.wqe is None or both is None or not both.sender.transport.acknowledged:
        return NA
    if both.receiver.path is None:
        return NA  # it was reset, and nobody knows any more what it was told
    if mistaken(case.world, both.sender) is not None:
        return ok("they were never meant for each other")
    gap = psn_gap(both) * sign
    if gap <= 0 or began_alone(case, both) is not None:
        return ok(f"first packet number {_number(both.sender.attr.sq_psn)}, and expected so")
    if not is_in_vain(case):
        return ok("the packet numbers fit by now")
    return hinders(
        case, *_told(case, both), *seen(case, both)[:1],
        cure=Fix(recovery.reconnected(case, both.sender, send.wqe.wr, _SAID_AS, _SAID_AS)),
        since=max((e.event for e in _told(case, both) if e.event is not None), default=None),
    )  # fmt: skip


def _told(case: Case, both: Ends) -> list[Evidence]:
    sender, receiver = both
    return [
        said(f"{case.qp_name(sender)} was told sq_psn={_number(sender.attr.sq_psn)}",
             told(case, sender, Attr.SQ_PSN)),
        said(f"{case.qp_name(receiver)} was told rq_psn={_number(receiver.attr.rq_psn)}",
             told(case, receiver, Attr.RQ_PSN)),
    ]  # fmt: skip


def _number(psn: int | None) -> str:
    return fmt.number(psn or 0)
