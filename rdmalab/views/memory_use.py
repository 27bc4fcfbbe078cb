"""Bytes of the memory regions of a node that were used last."""

from collections.abc import Callable
from typing import NamedTuple

from rdmalab.command import Noun, Thing
from rdmalab.hca.device import Hca
from rdmalab.hca.objects import MemoryRegion
from rdmalab.hca.wr import RecvWqe, SendWqe
from rdmalab.session.names import Names
from rdmalab.spec import records as rec
from rdmalab.spec.records import Kind, Record, kind_of, node_of
from rdmalab.views.memory import READS, WRITES
from rdmalab.world.world import World

_POSTS: dict[Kind, Callable[[Record], SendWqe | RecvWqe]] = {
    Kind.SEND_POSTED: rec.send_wqe_of,
    Kind.RECV_POSTED: rec.recv_wqe_of,
    Kind.SRQ_POSTED: rec.recv_wqe_of,
}
_USES = frozenset((*READS, *WRITES, *_POSTS))


class Use(NamedTuple):
    """Bytes of a region that were used: start is their offset in the region, in bytes.

    event: the event in which they were used.
    """

    region: Thing
    start: int
    event: int


def latest_use(world: World, _names: Names, node: str, pd: int | None = None) -> Use | None:
    """The bytes of a node that were used last; None if the log names none that still exist.

    pd: the number of the protection domain whose regions count; None: all of them.

    Used: the adapter or the application read or wrote them, or a work request that was posted names
    them. The search goes as far back as the `reach` of the trace.
    """
    hca = world.nodes[node]
    for _, record in world.trace.records.newest() if hca.mrs.items else ():
        if kind_of(record) in _USES and node_of(record) == node:
            found = _place_of(hca, record)
            if found is not None and pd in (None, found[0].pd):
                mr, start = found
                start = max(0, min(start, mr.length - 1))
                return Use(Thing(Noun.MR, node, mr.number), start, rec.event_of(record))
    return None


def _place_of(hca: Hca, record: Record) -> tuple[MemoryRegion, int] | None:
    """The region that a record of _USES names, and the offset; the newest where several overlap."""
    post = _POSTS.get(kind_of(record))
    if post is not None:
        named = ((hca.lkeys.get(sge.lkey), sge.addr) for sge in post(record).sg)
        return next(((mr, addr - mr.iova) for mr, addr in named if mr is not None), None)
    at = rec.address_of(record)
    held = [mr for mr in hca.mrs.items.values() if mr.addr <= at < mr.addr + mr.length]
    return (held[-1], at - held[-1].addr) if held else None
