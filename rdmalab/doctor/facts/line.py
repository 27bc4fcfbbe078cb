"""The line at the send queue: whose turn it is, what holds it up, the longest time it can take."""

from typing import NamedTuple

from rdmalab.doctor.case import Case, QueuePair, SendWqe
from rdmalab.hca import requester
from rdmalab.spec.records import Kind
from rdmalab.spec.timers import INFINITE_RETRIES, RNR_NS, on_ticks_ns
from rdmalab.views import fmt


class Hold(NamedTuple):
    """The work request whose turn it is, why it may not begin, and what is under way before it."""

    wqe: SendWqe
    reason: str
    under_way: list[SendWqe]

    @property
    def ahead(self) -> str:
        """`wr5 RDMA_READ 8 B, wr6 RDMA_READ 8 B`."""
        return ", ".join(fmt.send_wqe(wqe) for wqe in self.under_way)


def held(case: Case) -> Hold | None:
    """The hold of a send that has not begun, or of one before it; None if it may begin."""
    send, qp = case.send, case.qp
    if send is None or qp is None or not send.on_queue or send.begun:
        return None
    wqe = qp.sq.wqes.get(qp.req.serial)
    if wqe is None or wqe.serial < qp.req.started:
        return None
    reason = requester.must_wait(qp, wqe)
    before = range(qp.comp.serial, wqe.serial)
    reads = [w for n in before if (w := qp.sq.wqes[n]).work is not None and w.work.outstanding]
    return Hold(wqe, reason, reads) if reason else None


def held_text(case: Case, hold: Hold) -> str:
    """Name of the request that waits: the one asked about, or one before it."""
    name = fmt.send_wqe(hold.wqe)
    return name if hold.wqe.serial == case.subject.serial else f"{name}, before it in line,"


def posted(case: Case, wqe: SendWqe) -> int | None:
    """The event of its post."""
    return case.log.event_of(Kind.SEND_POSTED, case.subject.thing, wqe.serial)


def worst(case: Case) -> list[str]:
    """One sentence for a lost answer, and one for a peer without a receive; [] without ACKs."""
    qp, peer, send = case.qp, case.peer, case.send
    if send is None or qp is None or qp.path is None or not qp.transport.acknowledged:
        return []
    waits = [_without_answers(case, qp)]
    if qp.comp.rnr_until_ns is not None and peer is not None:
        waits.append(_without_receives(case, qp, peer))
    return waits


def _without_answers(case: Case, qp: QueuePair) -> str:
    wait_ns = qp.path.answer_ns if qp.path is not None else None
    if wait_ns is None:
        return "at the worst, if an answer is lost: waits without limit (timeout=0)"
    retries = qp.attr.retry_cnt or 0
    if retries == INFINITE_RETRIES and case.profile.retry_cnt_7_is_infinite:
        return (
            "at the worst, if no answer comes: retries without limit (retry_cnt=7 on this device)"
        )
    tries = retries + 1 - qp.comp.retried
    return (f"at the worst, if no answer comes: RETRY_EXC_ERR after {tries} * "
            f"{fmt.duration(wait_ns)} = {fmt.duration(tries * wait_ns)}")  # fmt: skip


def _without_receives(case: Case, qp: QueuePair, peer: QueuePair) -> str:
    wait_ns = on_ticks_ns(RNR_NS[(peer.attr.min_rnr_timer or 0) % 32], case.profile.timer_tick_ns)
    if qp.attr.rnr_retry == INFINITE_RETRIES:
        return (
            f"without a receive at the peer: a retry every {fmt.duration(wait_ns)}, without limit"
        )
    left = (qp.attr.rnr_retry or 0) - qp.comp.rnr_retried + 1
    return (f"without a receive at the peer: RNR_RETRY_EXC_ERR after {left} * "
            f"{fmt.duration(wait_ns)} = {fmt.duration(left * wait_ns)}")  # fmt: skip
