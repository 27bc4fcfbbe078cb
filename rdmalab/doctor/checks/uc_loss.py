"""uc-loss: a packet of an unreliable message was lost, and nobody sends it again."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import partners
from rdmalab.doctor.facts.unanswered_sends import Miss, Unheard
from rdmalab.doctor.finding import NA, Check, Evidence, Finding, Fix, Section, ok, said
from rdmalab.doctor.fixes.reconnecting import once_more
from rdmalab.hca.qp import QueuePair
from rdmalab.views import fmt
from rdmalab.world.faults import Corrupt, Drop

_OF_CABLE = ("fault", "the link is down", "malformed")


def examine(case: Case) -> Finding:
    """Which packets of it the cable lost, and what the responder dropped because of that."""
    unheard, qp = case.unheard, case.qp
    if unheard is None or qp is None or qp.transport.acknowledged or unheard.send.wqe is None:
        return NA
    lost = [miss for miss in unheard.misses if miss.reason.startswith(_OF_CABLE)]
    if not lost:
        return ok("the cable lost nothing of it")
    target = partners.target(case)
    return unheard.finding(
        said(f"it ended with SUCCESS when its last packet had left: {qp.qp_type.name} waits for "
             "no answer", unheard.send.ending.event if unheard.send.ending else None),
        *[said(f"packet psn={miss.packet.psn} was lost: {miss.reason}", miss.event)
          for miss in lost[:2]],
        *_dropped(case, unheard, target),
        cure=Fix([*_faults(case, lost), *once_more(case, qp, unheard.send.wqe.wr, target)]),
        since=lost[0].event,
    )  # fmt: skip


def _dropped(case: Case, unheard: Unheard, target: QueuePair | None) -> list[Evidence]:
    """The rest of the message, which does not follow without a gap any more."""
    rest = [miss for miss in unheard.misses if miss.reason == "rest-of-message"]
    if not rest or target is None:
        return []
    many = fmt.count(len(rest), "packet")
    return [said(f"{case.qp_name(target)} dropped the {many} behind the gap", rest[0].event)]


def _faults(case: Case, lost: list[Miss]) -> list[str]:
    """The faults that would lose it once more."""
    named = {miss.reason.split(":")[0] for miss in lost}
    return [
        f"fault clear {fault.number}"
        for fault in case.world.network.cable.faults
        if isinstance(fault, Drop | Corrupt) and _name(fault) in named and not _is_over(fault)
    ]


def _name(fault: Drop | Corrupt) -> str:
    """What a packet is said to have been lost for; which fault corrupted it, nobody can tell."""
    return f"fault {fault.number}" if isinstance(fault, Drop) else "malformed"


def _is_over(fault: Drop | Corrupt) -> bool:
    """It has met all the packets that it will ever meet."""
    match = fault.match
    counted = match.count is not None and match.met >= match.count
    return counted or (match.every is None and match.nth is not None and match.seen >= match.nth)


CHECK = Check(
    59, "uc-loss", Section.RECEIVE,
    question="Was a packet of an unreliable message lost on its way?",
    rule="UC and UD send nothing twice: what is lost is gone, and the sender is told SUCCESS",
    source="ibv_create_qp(3)", examine=examine,
)  # fmt: skip
