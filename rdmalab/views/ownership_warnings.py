"""Warnings about memory that work still uses: the program writes into it, or deregisters it."""

from collections.abc import Iterator

from rdmalab.command import Noun
from rdmalab.hca.device import Hca
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.wr import SGE
from rdmalab.spec import records as rec
from rdmalab.spec.access import Access
from rdmalab.spec.causes import warning
from rdmalab.spec.opcodes import ATOMIC_BYTES
from rdmalab.spec.records import Kind, node_of, object_of, of_kinds
from rdmalab.views.device_warnings import WarningChecks, WarningContext
from rdmalab.views.post_warnings import meet

_LOOK_BACK = 2_000  # records
_ATOMIC = int(Access.REMOTE_ATOMIC)
_ARRIVED = (Kind.PACKET_RECEIVED,)


def _destroyed(moment: WarningContext) -> Iterator[str]:
    if rec.noun_of(moment.record) != Noun.MR:
        return
    lkey_index = 2 * object_of(moment.record)
    users = [
        moment.name(noun, number)
        for noun, number, sg in _all_pending(moment.hca)
        if any(sge.lkey >> 8 == lkey_index for sge in sg)
    ]
    if users:
        name = moment.name(Noun.MR, object_of(moment.record))
        yield warning("dereg-early", users=", ".join(users), mr=name)


def _all_pending(hca: Hca) -> Iterator[tuple[Noun, int, Iterator[SGE]]]:
    """The buffers that posted work of each queue will use."""
    for qp in hca.qps.items.values():
        yield Noun.QP, qp.number, _pending(qp)
    for srq in hca.srqs.items.values():
        yield Noun.SRQ, srq.number, (sge for recv in srq.wqes for sge in recv.sg)


def _pending(qp: QueuePair) -> Iterator[SGE]:
    for serial, send in qp.sq.wqes.items():
        if serial >= qp.comp.serial and send.inline is None:
            yield from send.sg
    for recv in qp.rq.wqes:
        yield from recv.sg


def _host_wrote(moment: WarningContext) -> Iterator[str]:
    """The application writes where the HCA still reads or writes."""
    addr, length = rec.address_of(moment.record), rec.length_of(moment.record)
    yield from _under_receives(moment, addr, length)
    if _is_counter(moment, addr, length):
        yield warning("atomic-mixed")
    for qp in moment.hca.qps.items.values():
        for serial, wqe in qp.sq.wqes.items():
            if serial < qp.comp.serial or wqe.inline is not None:
                continue
            if any(meet(sge, addr, length) for sge in wqe.sg):
                name = moment.name(Noun.QP, qp.number)
                yield warning("buffer-reused-early", work=f"wr{wqe.wr.wr_id} of {name}")


def _under_receives(moment: WarningContext, addr: int, length: int) -> Iterator[str]:
    hca = moment.hca
    queues = [(Noun.QP, qp.number, qp.rq.wqes) for qp in hca.qps.items.values()]
    queues += [(Noun.SRQ, srq.number, srq.wqes) for srq in hca.srqs.items.values()]
    for noun, number, receives in queues:
        if any(meet(sge, addr, length) for recv in receives for sge in recv.sg):
            name = moment.name(noun, number)
            yield warning("sink-overwritten", queue=name)


def _is_counter(moment: WarningContext, addr: int, length: int) -> bool:
    """Whether the last atomics that this HCA served were on these bytes."""
    hca, trace = moment.hca, moment.session.world.trace
    # Without a key that grants atomics there was none. A program that writes its buffer before each
    # post would search the log each time: that was half of what a ping-pong of pyverbs costs.
    if not any(opened.access & _ATOMIC for opened in hca.rkeys.values()):
        return False
    latest = trace.since(max(0, trace.latest + 1 - _LOOK_BACK))
    return any(
        node_of(record) == hca.node
        and (atomic := rec.packet_of(record).atomiceth) is not None
        and addr < atomic.va + ATOMIC_BYTES
        and atomic.va < addr + length
        for record in of_kinds(latest, _ARRIVED)
    )


OWNERSHIP_WARNINGS: WarningChecks = {
    Kind.DESTROYED: _destroyed,
    Kind.HOST_WROTE: _host_wrote,
}
