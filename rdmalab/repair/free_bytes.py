"""Bytes of registered memory that no work request has: for the receives of a fix."""

from collections.abc import Iterator, Sequence
from itertools import islice

from rdmalab.command import Thing
from rdmalab.hca.wr import SGE
from rdmalab.spec import records as rec
from rdmalab.spec.access import Access
from rdmalab.spec.records import Kind
from rdmalab.world.world import World

_MOST = 10_000  # newest records in which posts of unpolled receives and writes are sought


def unused(world: World, domain: Thing, length: int, beside: Sequence[SGE] = ()) -> list[SGE]:
    """SGE for the first bytes of a domain that no request and none of `beside` has; [] if none.

    A receive has its bytes while it waits, and until its completion is polled; a send until it is
    done, as it may be retransmitted. Bytes that the program has written come last: it may still
    need them.
    """
    used = [*beside, *_in_use(world, domain.node)]
    mine = [mr for mr in world.nodes[domain.node].mrs.items.values()
            if mr.pd == domain.number and mr.access & Access.LOCAL_WRITE]  # fmt: skip
    written = list(_written(world, domain.node)) if mine else []
    for mr, kept in [*((mr, written) for mr in mine), *((mr, []) for mr in mine if written)]:
        taken = [range(sge.addr, sge.addr + sge.length) for sge in used if sge.lkey == mr.lkey]
        taken += [range(mr.iova + addr - mr.addr, mr.iova + addr - mr.addr + length)
                  for addr, length in kept if mr.addr <= addr < mr.addr + mr.length]  # fmt: skip
        starts = sorted({mr.iova, *(each.stop for each in taken)})
        for own in (range(at, at + length) for at in starts):
            if own.stop <= mr.iova + mr.length and all(
                each.stop <= own.start or own.stop <= each.start for each in taken
            ):
                return [SGE(own.start, length, mr.lkey)]
    return []


def is_unused(world: World, node: str, piece: SGE) -> bool:
    """Whether no request has one of these bytes; as for `unused`."""
    return not any(
        each.lkey == piece.lkey
        and each.addr < piece.addr + piece.length and piece.addr < each.addr + each.length
        for each in _in_use(world, node)
    )  # fmt: skip


def _in_use(world: World, node: str) -> list[SGE]:
    """The SGEs of the receives of a node that are not over, and of its sends that are not done.

    The bytes of an INLINE send were copied at its post.
    """
    qps = world.nodes[node].qps.items.values()
    sends = (wqe for qp in qps for serial, wqe in qp.sq.wqes.items()
             if serial >= qp.comp.serial and wqe.inline is None)  # fmt: skip
    return [*_received_into(world, node), *(sge for wqe in sends for sge in wqe.sg)]


def _received_into(world: World, node: str) -> list[SGE]:
    """The SGEs of all receives of a node that wait, or whose completion is not polled."""
    hca = world.nodes[node]
    waiting = [*(w for qp in hca.qps.items.values() for w in qp.rq.wqes),
               *(w for srq in hca.srqs.items.values() for w in srq.wqes)]  # fmt: skip
    return [*(sge for wqe in waiting for sge in wqe.sg), *_unread(world, node)]


def _written(world: World, node: str) -> Iterator[tuple[int, int]]:
    """Address and length of the newest writes of the program on a node."""
    for record in islice(reversed(world.trace.records), _MOST):
        if rec.kind_of(record) is Kind.HOST_WROTE and rec.node_of(record) == node:
            yield rec.address_of(record), rec.length_of(record)


def _unread(world: World, node: str) -> Iterator[SGE]:
    """The bytes of receives with a message whose completion is on a queue of a node."""
    cqes = (cqe for cq in world.nodes[node].cqs.items.values() for cqe in cq.cqes)
    unread = {(cqe.srq or cqe.qp_num, cqe.serial) for cqe in cqes
              if not (cqe.is_send or cqe.status)}  # fmt: skip
    for record in islice(reversed(world.trace.records), _MOST if unread else 0):
        posted = rec.kind_of(record) in (Kind.RECV_POSTED, Kind.SRQ_POSTED)
        if posted and rec.node_of(record) == node:
            wqe = rec.recv_wqe_of(record)
            if (rec.object_of(record), wqe.serial) in unread:
                yield from wqe.wr.sg
