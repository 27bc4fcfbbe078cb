"""Work requests as objects of pyverbs."""

from collections.abc import Callable

from rdmalab.command import Noun, Thing
from rdmalab.export.pyverbs.objects import bind_info
from rdmalab.export.pyverbs.text import Lines, Scope, Verb, called, named, number
from rdmalab.export.replay.calls import Bound, NotExportable
from rdmalab.export.replay.requests import (
    has_target,
    is_atomic,
    judge_list,
    judge_pieces,
    judge_send,
    peer_of,
)
from rdmalab.hca.objects import inc_rkey
from rdmalab.hca.wr import SendWR, swap_octets
from rdmalab.spec.work import SendFlags, WROpcode


def sge(s: Scope, node: str, each: Bound) -> str:
    """An SGE."""
    judge_pieces([each])
    return called(
        s.use("wr", "SGE"), s.addr(node, each.addr), number(each.length), s.lkey(node, each.lkey)
    )


def _requests(
    s: Scope, node: str, wrs: list[Bound], make: Callable[[Bound], list[str]]
) -> list[str]:
    """Lines that make a chain, the last request first; `wr` is the first of it."""
    lines, kept = list[str](), wrs
    for at, wr in enumerate(wrs):
        judge_list(wr)
        if wr.next == 0:
            kept = wrs[: at + 1]
            break
    for at in reversed(range(len(kept))):
        follows = at + 1 < len(kept)
        made = make(kept[at])
        if follows:
            made[0] = f"{made[0][:-1]}, next_wr=wr)"
        lines += made
    return lines


def _post_recv(s: Scope) -> Lines:
    return _received(s, "qp")


def _post_srq_recv(s: Scope) -> Lines:
    return _received(s, "srq")


def _received(s: Scope, parameter: str) -> Lines:
    queue, wrs = _queue(s, parameter)

    def make(wr: Bound) -> list[str]:
        sg = [sge(s, queue.node, each) for each in wr.sg]
        count = len(sg) if wr.num_sge is None else wr.num_sge
        listed = f"[{', '.join(sg)}]" if sg else None
        values = (number(wr.wr_id), str(count), *([listed] if listed else []))
        return [f"wr = {called(s.use('wr', 'RecvWR'), *values)}"]

    return Lines(f"{s.var(queue)}.post_recv(wr)", _requests(s, queue.node, wrs, make))


def _queue(s: Scope, parameter: str) -> tuple[Thing, list[Bound]]:
    queue, wrs = s.argument(parameter), s.argument("wr")
    if queue is None or not wrs or s.argument("bad_wr") not in (None, "&bad_wr"):
        raise NotExportable(f"{s.call.word} with NULL: pyverbs takes a request")
    return queue, wrs


_LISTLESS = (WROpcode.LOCAL_INV, WROpcode.BIND_MW, WROpcode.SEND_WITH_INV)
"""Opcodes for which pyverbs wants no list."""


def _post_send(s: Scope) -> Lines:
    qp, wrs = _queue(s, "qp")
    for wr in wrs:
        judge_send(s, qp, wr)
    return Lines(
        f"{s.var(qp)}.post_send(wr)", _requests(s, qp.node, wrs, lambda wr: _send(s, qp.node, wr))
    )


def imm(value: int) -> str:
    """The immediate that lies in memory as this number."""
    return f"socket.htonl({number(swap_octets(value))})"


def _send(s: Scope, node: str, wr: SendWR) -> list[str]:
    """Lines that make a SendWR; without bytes it loses the piece that the constructor wants."""
    sg = [sge(s, node, each) for each in wr.sg]
    count = len(sg) if wr.num_sge is None else wr.num_sge
    is_empty = not count and wr.opcode not in _LISTLESS
    if is_empty and not sg:
        sg = [called(s.use("wr", "SGE"), "0", "0", "0")]
    word = imm(wr.imm_data) if wr.imm_data else None
    if wr.invalidate_rkey:
        word = s.rkey(node, wr.invalidate_rkey)
    made = called(
        s.use("wr", "SendWR"), number(wr.wr_id), named(wr.opcode),
        num_sge=str(1 if is_empty else count) if sg else None, imm_data=word,
        sg=f"[{', '.join(sg)}]" if sg else None, send_flags=named(SendFlags(wr.flags)),
    )  # fmt: skip
    lines = [f"wr = {made}", *(["wr.num_sge = 0"] if is_empty else [])]
    if wr.remote_srqn:
        lines.append(f"wr.set_qp_type_xrc({s.srqn(node, wr.remote_srqn)})")
    return lines + _operands(s, node, wr)


def _operands(s: Scope, node: str, wr: SendWR) -> list[str]:
    """The union of a SendWR."""
    if wr.opcode == WROpcode.TSO:
        raise NotExportable("the skin of pyverbs has no set_wr_tso")
    if wr.opcode == WROpcode.BIND_MW:
        return [_bind_request(s, node, wr)]
    target = [s.rkey(node, wr.rkey), s.addr(peer_of(s, node), wr.remote_addr)]
    if is_atomic(wr):
        operands = [number(wr.compare_add), number(wr.swap)]
        return [f"wr.set_wr_atomic({', '.join([*target, *operands])})"]
    if has_target(wr):
        return [f"wr.set_wr_rdma({', '.join(target)})"]
    if wr.ah or wr.remote_qpn or wr.remote_qkey:
        ah = s.pointer(node, Noun.AH, wr.ah)
        return [f"wr.set_wr_ud({ah}, {s.qpn(node, wr.remote_qpn)}, {number(wr.remote_qkey)})"]
    return []


def _bind_request(s: Scope, node: str, wr: Bound) -> str:
    window = s.world.nodes[node].mws.items.get(wr.mw or 0)
    if window is None:
        raise NotExportable("BIND_MW of a window that is no more")
    if wr.mw_rkey not in (None, inc_rkey(window.rkey)):
        raise NotExportable("set_bind_wr of pyverbs takes the next key of the window, no other")
    mw = s.pointer(node, Noun.MW, wr.mw)
    return f"wr.set_bind_wr({mw}, {bind_info(s, node, wr)})"


VERBS: dict[str, Verb] = {
    "post_send": Verb(_post_send),
    "post_recv": Verb(_post_recv),
    "post_srq_recv": Verb(_post_srq_recv),
}
