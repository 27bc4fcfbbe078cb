"""The operands of ibv_wr_*, the same in each language after the queue pair."""

from collections.abc import Callable

from rdmalab.export.replay.calls import Bound, NotExportable
from rdmalab.export.replay.names import Names
from rdmalab.export.replay.requests import peer_of

Operands = Callable[[Names, str], list[str]]


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


OPERANDS: dict[str, Operands] = {
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
}
"""By the verb."""


def judge_start(s: Names) -> None:
    """NotExportable for wr_start by another thread than the first: a program has one."""
    if s.argument("thread") not in (None, 1):
        raise NotExportable("wr_start by another thread")


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
