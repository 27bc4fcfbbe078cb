"""wrong-qpn: at the other node nobody has the number that the packets are for, or a stranger."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import partners
from rdmalab.doctor.finding import NA, Check, Evidence, Finding, Fix, Section, hinders, ok, said
from rdmalab.doctor.fixes.reconnecting import once_more, reconnect
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.wqe import SendWqe
from rdmalab.views import fmt


def examine(case: Case) -> Finding:
    """Whether its packets were dropped because no queue pair has that number."""
    misled = partners.misled(case)
    if misled is not None and misled[0].node == misled[1].node:
        return _of_another(case, *misled)
    unheard, qp = case.unheard, case.qp
    if unheard is None or qp is None or unheard.send.wqe is None:
        return NA
    misses = unheard.because("wrong-qpn")
    if not misses:
        return ok("no packet of it looked for a queue pair in vain")
    node, number = misses[-1].node, misses[-1].number
    gone = partners.destroyed(case, node, number)
    told = _told(case, qp)
    if gone is not None and told is not None and gone > told:
        return ok(f"queue pair {number:#x} was there when they were connected", told)
    evidence = [
        _said_so(case, qp, number, told),
        said(f"{node} has no queue pair {number:#x}: {_dropped(len(misses))}", misses[-1].event),
        *([said(f"queue pair {number:#x} of {node} was destroyed", gone)] if gone else []),
    ]
    cure, right = _cure(case, qp, unheard.send.wqe, node)
    if right is not None:
        evidence.append(said(f"{case.qp_name(right)} has number {right.number:#x}"))
    return unheard.finding(*evidence, cure=cure, since=told or unheard.send.posted)


def _of_another(case: Case, reached: QueuePair, wanted: QueuePair) -> Finding:
    """The number is that of a queue pair which has another peer."""
    qp, wqe = case.qp, case.send.wqe if case.send is not None else None
    if qp is None or wqe is None:
        return NA
    told, right = partners.told(case, qp), case.qp_name(wanted)
    lines = reconnect(case, qp, wanted) + once_more(case, qp, wqe.wr, wanted, revived=True)
    return hinders(
        case,
        said(f"{case.qp_name(qp)} was told dest_qp_num={reached.number:#x}", told),
        said(f"that is {case.qp_name(reached)}, which has another peer",
             partners.told(case, reached)),
        said(f"{right}, which expects {case.qp_name(qp)}, has number {wanted.number:#x}",
             partners.told(case, wanted)),
        cure=Fix(lines), since=told,
    )  # fmt: skip


def _told(case: Case, qp: QueuePair) -> int | None:
    """Of a connection; a datagram is told anew each time."""
    return partners.told(case, qp) if qp.transport.connected else None


def _dropped(number: int) -> str:
    return f"{fmt.count(number, 'packet')} dropped"


def _said_so(case: Case, qp: QueuePair, number: int, told: int | None) -> Evidence:
    if qp.transport.connected:
        return said(f"{case.qp_name(qp)} was told dest_qp_num={number:#x}", told)
    posted = case.send.posted if case.send is not None else None
    return said(f"it was posted with remote_qpn={number:#x}", posted)


def _cure(
    case: Case, qp: QueuePair, wqe: SendWqe, node: str
) -> tuple[Fix | None, QueuePair | None]:
    """Tell the number of who is meant; None where that is anybody's guess."""
    if not qp.transport.connected:
        found = partners.listeners(case.world, node, wqe.wr.remote_qkey)
        if not found:
            return None, None
        name = case.qp_name(found[0])
        return Fix(once_more(case, qp, wqe.wr, found[0], remote_qpn=name)), found[0]
    peer = partners.meant(case.world, qp, node)
    if peer is None:
        return None, None
    lines = reconnect(case, qp, peer)
    return Fix(lines + once_more(case, qp, wqe.wr, peer, revived=True)), peer


CHECK = Check(
    44, "wrong-qpn", Section.PEER,
    question="Is the queue pair number it was sent to nobody's at the other node, or a stranger's?",
    rule="who has the number gets the packets; where nobody has it, the port drops them in silence",
    source="ibv_modify_qp(3)", examine=examine,
)  # fmt: skip
