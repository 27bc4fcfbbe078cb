"""Work requests of pyverbs, and the builders of QPEx."""

from collections.abc import Callable

from rdmalab.command import Noun, Thing
from rdmalab.export.pyverbs.objects import bind_info
from rdmalab.export.pyverbs.text import End, Lines, Scope, called, checked, lost, named, number
from rdmalab.export.replay.calls import Bound, NotExportable
from rdmalab.export.replay.program import Verb
from rdmalab.export.replay.requests import (
    OPERANDS,
    has_target,
    is_atomic,
    judge_list,
    judge_pieces,
    judge_send,
    listed,
    next_fields,
    next_window_key,
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


def _ex(s: Scope) -> str:
    name = s.var(s.argument("qp"))
    if name not in s.writer.extended:
        raise NotExportable("the queue pair was not made by create_qp_ex with send_ops_flags")
    return name


def _next_fields(s: Scope, ex: str) -> list[str]:
    return next_fields(s, ex, lambda flags: named(SendFlags(flags)))


def _wr_set(s: Scope) -> Lines | None:
    lines = _next_fields(s, _ex(s))
    return Lines(lines[-1], lines[:-1]) if lines else None


def _builder(operands: Callable[[Scope, str], list[str]], end: End = lost) -> Verb[Scope, Lines]:
    def begin(s: Scope) -> Lines:
        ex, node = _ex(s), s.argument("qp").node
        line = f"{ex}.{s.call.word}({', '.join(operands(s, node))})"
        return Lines(line, _next_fields(s, ex))

    return Verb(begin, end)


def _bind_operands(s: Scope, node: str) -> list[str]:
    info = s.argument("info")
    mw, key = s.pointer(node, Noun.MW, info.mw), next_window_key(s, node, info)
    is_next = key == inc_rkey(s.world.nodes[node].mws.items[info.mw].rkey)
    text = s.next_key(f"{mw}.rkey") if is_next else number(key)
    return [mw, text, bind_info(s, node, info)]


def _data_list(s: Scope, node: str) -> list[str]:
    sg, count = listed(s, "sg", "num_sge")
    return [str(count), f"[{', '.join(sge(s, node, each) for each in sg)}]"]


def _inline_list(s: Scope, node: str) -> list[str]:
    bufs, count = listed(s, "buf", "num_buf")
    made = [called(s.use("qp", "DataBuffer"), s.addr(node, b.addr), number(b.length)) for b in bufs]
    return [str(count), f"[{', '.join(made)}]"]


def _ud_addr(s: Scope, node: str) -> list[str]:
    ah = s.pointer(node, Noun.AH, s.argument("ah"))
    return [ah, s.qpn(node, s.argument("remote_qpn")), number(s.argument("remote_qkey"))]


VERBS: dict[str, Verb[Scope, Lines]] = {
    "post_send": Verb(_post_send),
    "post_recv": Verb(_post_recv),
    "post_srq_recv": Verb(_post_srq_recv),
    "wr_set": Verb(_wr_set, lost),
    "wr_complete": _builder(lambda _s, _node: [], checked),
    **{word: _builder(operands) for word, operands in OPERANDS.items()},
    "wr_bind_mw": _builder(_bind_operands),
    "wr_set_sge": _builder(lambda s, node: [sge(s, node, s.argument("sg"))]),
    "wr_set_sge_list": _builder(_data_list),
    "wr_set_inline_data_list": _builder(_inline_list),
    "wr_set_ud_addr": _builder(_ud_addr),
}
