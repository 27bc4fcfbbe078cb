"""Work requests that no program can post as the lab did, in whatever language."""

from collections.abc import Iterable

from rdmalab.command import Thing
from rdmalab.export.replay.calls import NotExportable
from rdmalab.export.replay.names import Names
from rdmalab.hca.wr import SGE, RecvWR, SendWR, WildPointer
from rdmalab.spec.transports import TRANSPORTS
from rdmalab.spec.work import WORK, SendFlags


def judge_list(wr: RecvWR | SendWR) -> None:
    """NotExportable for what C leaves undefined: wrong pointers and counts, unset fields."""
    if wr.rest != "zero":
        raise NotExportable("a work request without memset has what malloc left: undefined in C")
    if wr.next:
        raise NotExportable("next is an invalid pointer: C would crash")
    if wr.num_sge is not None and wr.num_sge > len(wr.sg):
        raise NotExportable("num_sge is more than sg_list has: C would read beyond its end")
    judge_pieces(wr.sg)


def judge_pieces(sg: Iterable[SGE]) -> None:
    """NotExportable for a list that is no list."""
    if any(isinstance(each, WildPointer) for each in sg):
        raise NotExportable("sg_list is an invalid pointer: C would crash")


def judge_send(s: Names, qp: Thing, wr: SendWR) -> None:
    """NotExportable for a send whose queue is no more, or whose fields share a union."""
    hca = s.world.nodes[qp.node]
    pair = hca.qps.items.get(qp.number)
    if pair is None:
        raise NotExportable("post_send on a queue pair that was destroyed: undefined in C")
    if wr.flags & SendFlags.INLINE and not all(
        hca.memory.is_mapped(each.addr, each.length) for each in wr.sg
    ):
        raise NotExportable("INLINE bytes at an address without memory: C would crash")
    has_address = bool(wr.ah or wr.remote_qpn or wr.remote_qkey)
    if has_target(wr) and (has_address or TRANSPORTS[pair.qp_type].addressed):
        raise NotExportable("wr.ud and wr.rdma are one union in C")


def is_atomic(wr: SendWR) -> bool:
    """Whether its opcode reads `wr.atomic`."""
    row = WORK.get(wr.opcode)
    return row is not None and "compare_add" in row.operands


def has_target(wr: SendWR) -> bool:
    """Whether it names memory of the peer."""
    return bool(wr.remote_addr or wr.rkey)


def peer_of(s: Names, node: str) -> str:
    """The other node."""
    return next((name for name in s.world.nodes if name != node), node)
