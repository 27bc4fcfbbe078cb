"""ud-40-bytes: a receive of a datagram has no room for the 40 bytes before it."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts.unanswered_sends import posted_as, sender_of
from rdmalab.doctor.finding import NA, Check, Finding, Fix, Section, fail, ok, said
from rdmalab.doctor.fixes import simple_fixes
from rdmalab.doctor.fixes.reconnecting import piece
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.wqe import RecvWqe
from rdmalab.hca.wr import SGE, RecvWR
from rdmalab.spec.records import A, B, Kind, Record, event_of, kind_of, object_of
from rdmalab.spec.statuses import WCStatus
from rdmalab.wire.headers import GRH


def examine(case: Case) -> Finding:
    """Of a receive that a datagram has broken, whether the header is what did not fit."""
    receive, qp = case.receive, case.qp
    if receive is None or qp is None or qp.transport.connected or receive.wqe is None:
        return NA
    if receive.ending is None or receive.ending.status is WCStatus.SUCCESS:
        return ok("no datagram was too long for it")
    refused = _refusal(case, qp)
    if refused is None:
        return ok("it did not fail of its length")
    length, wqe = len(refused[A].payload), receive.wqe
    return fail(
        said(f"the receive has {wqe.length} bytes", receive.posted),
        said(f"{length} bytes came, and {GRH.LENGTH} of routing header before them: "
             f"{length + GRH.LENGTH}", receive.ending.event),
        cure=_cure(case, qp, wqe, refused), since=receive.posted,
    )  # fmt: skip


def _refusal(case: Case, qp: QueuePair) -> Record | None:
    """What is kept of the datagram that was too long."""
    receive = case.receive
    if receive is None or receive.ending is None:
        return None
    for record in case.log.within(receive.ending.event):
        refused = kind_of(record) is Kind.REQUEST_REFUSED and object_of(record) == qp.number
        if refused and record[B] == "receive-short":
            return record
    return None


def _cure(case: Case, qp: QueuePair, wqe: RecvWqe, refused: Record) -> Fix:
    """The queue pair anew, the same receive with room for both, and the datagram once more."""
    needed = len(refused[A].payload) + GRH.LENGTH
    wider = _widened(case, qp, wqe, needed) or piece(case, qp.node, qp.pd, needed)
    lines = simple_fixes.revive(case, qp)
    lines.append(simple_fixes.post_recv(case, qp, RecvWR(wqe.wr.wr_id, wider)))
    return Fix(lines + _again(case, refused))


def _widened(case: Case, qp: QueuePair, wqe: RecvWqe, needed: int) -> list[SGE]:
    """Its last piece made longer, if its region goes on."""
    if not wqe.sg:
        return []
    *first, last = wqe.sg
    end = last.addr + last.length + needed - wqe.length
    region = next((mr for mr in case.world.nodes[qp.node].mrs.items.values()
                   if mr.lkey == last.lkey), None)  # fmt: skip
    if region is None or end > region.iova + region.length:
        return []
    return [*first, SGE(last.addr, end - last.addr, last.lkey)]


def _again(case: Case, refused: Record) -> list[str]:
    sender = sender_of(case.world, refused)
    qp = case.world.find(sender, QueuePair) if sender is not None and case.lives(sender) else None
    wqe = posted_as(case.log, sender, refused[A], event_of(refused)) if sender is not None else None
    return [simple_fixes.post_send(case, qp, wqe.wr)] if qp is not None and wqe is not None else []


CHECK = Check(
    57, "ud-40-bytes", Section.RECEIVE,
    question="Is the receive too short for the datagram and the 40 bytes before it?",
    rule="the first 40 bytes of each UD receive are for the routing header, the data comes behind",
    source="ibv_post_recv(3)", examine=examine,
)  # fmt: skip
