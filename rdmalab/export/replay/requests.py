"""Work requests and completions in any language: which no program can post, their operands."""

from collections.abc import Callable, Iterable

from rdmalab.command import Noun, Thing
from rdmalab.export.replay.calls import Bound, NotExportable
from rdmalab.export.replay.names import Names
from rdmalab.hca.objects import inc_rkey
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


Operands = Callable[[Names, str], list[str]]


def _started(s: Names, _node: str) -> list[str]:
    """NotExportable by another thread than the first: a program has one."""
    if s.argument("thread") not in (None, 1):
        raise NotExportable("wr_start by another thread")
    return []


def _target(s: Names, node: str, target: Bound) -> list[str]:
    return [s.rkey(node, target.rkey), s.addr(peer_of(s, node), target.remote_addr)]


def _written(s: Names, node: str) -> list[str]:
    return _target(s, node, s.argument("target"))


def _written_imm(s: Names, node: str) -> list[str]:
    return [*_written(s, node), s.immediate(s.argument("imm_data"))]


def _invalidated(s: Names, node: str) -> list[str]:
    return [s.rkey(node, s.argument("invalidate_rkey"))]


def _atomic(*names: str) -> Operands:
    def operands(s: Names, node: str) -> list[str]:
        given = s.argument("operands")
        return [*_target(s, node, given), *(s.literal(getattr(given, name)) for name in names)]

    return operands


def _segmented(s: Names, node: str) -> list[str]:
    header = s.argument("header")
    return [s.memory(node, header.hdr_addr), str(header.hdr_sz), str(header.mss)]


def _inline(s: Names, node: str) -> list[str]:
    buf = s.argument("buf")
    return [s.memory(node, buf.addr), s.literal(buf.length)]


OPERANDS: dict[str, Operands] = {
    "wr_start": _started,
    "wr_abort": lambda _s, _node: [],
    "wr_send": lambda _s, _node: [],
    "wr_send_imm": lambda s, _node: [s.immediate(s.argument("imm_data"))],
    "wr_send_inv": _invalidated,
    "wr_local_inv": _invalidated,
    "wr_rdma_write": _written,
    "wr_rdma_write_imm": _written_imm,
    "wr_rdma_read": _written,
    "wr_atomic_cmp_swp": _atomic("compare", "swap"),
    "wr_atomic_fetch_add": _atomic("add"),
    "wr_send_tso": _segmented,
    "wr_set_inline_data": _inline,
    "wr_set_xrc_srqn": lambda s, node: [s.srqn(node, s.argument("remote_srqn"))],
}
"""By the verb."""


def next_fields(s: Names, ex: str, flags: Callable[[int], str]) -> list[str]:
    """Assignments to wr_id and wr_flags of the extended queue pair, where they are given."""
    qpx = s.argument("qpx")
    if qpx is None:
        return []
    lines = [f"{s.member(ex, 'wr_id')} = {s.literal(qpx.wr_id)}"] if qpx.wr_id is not None else []
    if qpx.wr_flags is not None:
        lines.append(f"{s.member(ex, 'wr_flags')} = {flags(qpx.wr_flags)}")
    return lines


def listed(s: Names, things: str, count: str) -> tuple[list[Bound], int]:
    """A list and the number of its elements that count; NotExportable: more than it has."""
    found, most = s.argument(things) or [], s.argument(count)
    if most is not None and most > len(found):
        raise NotExportable(f"{count} is more than {things}_list has: C would read beyond its end")
    return found, len(found) if most is None else most


# --------------------------------------------------------------------------- completions
_UNCOMPARED = ("completion_ts", "completion_wallclock_ns", "vendor_err")


def is_comparable(found: Bound) -> bool:
    """Whether a field that `wc_read` read has the same value on every lab."""
    return not found.undefined and found.field not in _UNCOMPARED


def pair_of(s: Names, node: str, cqe: Bound) -> str:
    """The variable of the queue pair of a completion; empty: it has none, or is no more."""
    thing = Thing(Noun.QP, node, cqe.qp_num)
    is_named = thing in s.call.session.names.name_of
    return s.var(thing) if is_named and cqe.qp_num in s.world.nodes[node].qps.items else ""


def next_window_key(s: Names, node: str, wr: Bound) -> int:
    """The key that a bind gives its window, the next one if none is named; 0: no such window."""
    if wr.mw_rkey is not None:
        return int(wr.mw_rkey)
    window = s.world.nodes[node].mws.items.get(wr.mw)
    return inc_rkey(window.rkey) if window else 0
