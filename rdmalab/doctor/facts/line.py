"""The line at the send queue: whose turn it is, and what holds it up."""

from typing import NamedTuple

from rdmalab.doctor.case import Case, SendWqe
from rdmalab.hca import requester
from rdmalab.spec.records import Kind
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
    """What holds up a send that has not begun, or one before it in the line."""
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


def said_of(case: Case, hold: Hold) -> str:
    """Who it is that waits: the one asked about, or one before it."""
    name = fmt.send_wqe(hold.wqe)
    return name if hold.wqe.serial == case.subject.serial else f"{name}, before it in line,"


def posted(case: Case, wqe: SendWqe) -> int | None:
    """The event of its post."""
    return case.log.event_of(Kind.SEND_POSTED, case.subject.thing, wqe.serial)
