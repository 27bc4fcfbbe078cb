"""Work requests of C: structures for ibv_post_send and ibv_post_recv, and the builders ibv_wr_*."""

from collections.abc import Callable

from rdmalab.command import Noun
from rdmalab.export.c.objects import bind_info
from rdmalab.export.c.text import TAB, TO_COME, Scope, Text, structure
from rdmalab.export.replay.calls import Bound, NotExportable
from rdmalab.export.replay.names import constant, number
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
from rdmalab.hca.wr import SendWR
from rdmalab.spec.work import SendFlags, WROpcode


def sges(s: Scope, node: str, sg: list[Bound], name: str) -> tuple[list[str], str]:
    """The declaration of a list of pieces, and the members that name it."""
    judge_pieces(sg)
    if not sg:
        return [], ""
    pieces = [
        f"{{ .addr = {s.addr(node, each.addr)}, .length = {number(each.length)}, "
        f".lkey = {s.lkey(node, each.lkey)} }}"
        for each in sg
    ]
    if len(sg) == 1:
        return [f"struct ibv_sge {name} = {pieces[0]};"], f"&{name}"
    return [f"struct ibv_sge {name}[] = {{", *(f"{TAB}{piece}," for piece in pieces), "};"], name


def _listed(
    s: Scope, node: str, kind: str, wrs: list[Bound], members: Callable[[Bound], list[str]]
) -> list[str]:
    """The declarations of a list of work requests, linked by `next`."""
    for wr in wrs:
        judge_list(wr)
    given, bodies = list[str](), list[list[str]]()
    for at, wr in enumerate(wrs):
        lines, name = sges(s, node, wr.sg, "sg" if len(wrs) == 1 else f"sg{at}")
        given += lines
        own = [f".wr_id = {number(wr.wr_id)}"]
        if at + 1 < len(wrs) and wr.next is None:
            own.append(f".next = &wr[{at + 1}]")
        count = len(wr.sg) if wr.num_sge is None else wr.num_sge
        if name:
            own += [f".sg_list = {name}", f".num_sge = {count}"]
        bodies.append(own + members(wr))
    if len(wrs) == 1:
        given += structure(kind, "wr", bodies[0])
    else:
        given.append(f"struct {kind} wr[{len(wrs)}] = {{")
        for body in bodies:
            given += [f"{TAB}{{", *(f"{TAB}{TAB}{member}," for member in body), f"{TAB}}},"]
        given.append("};")
    return [*given, f"struct {kind} *bad_wr;"]


def _post_send(s: Scope) -> Text:
    return _posted(s, "qp", "ibv_post_send", "ibv_send_wr", lambda node, wr: _send(s, node, wr))


def _post_recv(s: Scope) -> Text:
    return _posted(s, "qp", "ibv_post_recv", "ibv_recv_wr", lambda _node, _wr: [])


def _post_srq_recv(s: Scope) -> Text:
    return _posted(s, "srq", "ibv_post_srq_recv", "ibv_recv_wr", lambda _node, _wr: [])


def _posted(
    s: Scope, parameter: str, function: str, kind: str, members: Callable[[str, Bound], list[str]]
) -> Text:
    queue, wrs = s.argument(parameter), s.argument("wr")
    if queue is None or wrs is None or s.argument("bad_wr") not in (None, "&bad_wr"):
        raise NotExportable(f"{function} with NULL: C would crash")
    if not wrs:
        raise NotExportable(f"{function} without a work request: C would crash")
    node = queue.node
    given = _listed(s, node, kind, wrs, lambda wr: members(node, wr))
    called = f"{function}({s.var(queue)}, {'wr' if len(wrs) > 1 else '&wr'}, &bad_wr)"
    return Text(called, given)


def _send(s: Scope, node: str, wr: SendWR) -> list[str]:
    """The members of an `ibv_send_wr` after its list."""
    if isinstance(wr.opcode, WROpcode) and wr.opcode.name in TO_COME:
        raise NotExportable(f"verbs.h of rdma-core 44 has no opcode {wr.opcode.name}")
    judge_send(s, s.argument("qp"), wr)
    text = constant(wr.opcode)
    texts = {
        "opcode": text if text.startswith("IBV") else f"(enum ibv_wr_opcode){text}",
        "send_flags": constant(SendFlags(wr.flags)) if wr.flags else "",
        "imm_data": s.immediate(wr.imm_data) if wr.imm_data else "",
        "invalidate_rkey": s.rkey(node, wr.invalidate_rkey) if wr.invalidate_rkey else "",
        "qp_type.xrc.remote_srqn": s.srqn(node, wr.remote_srqn) if wr.remote_srqn else "",
    }
    members = [f".{name} = {value}" for name, value in texts.items() if value]
    return [*members, *_target(s, node, wr), *_of_opcode(s, node, wr)]


def _target(s: Scope, node: str, wr: SendWR) -> list[str]:
    """The union `wr`: memory of the peer, or a datagram's destination."""
    members = []
    if is_atomic(wr):
        operands = ("compare_add", "swap")
        members += [f".wr.atomic.{name} = {number(getattr(wr, name))}" for name in operands]
    if has_target(wr):
        union = "atomic" if is_atomic(wr) else "rdma"
        members.append(f".wr.{union}.remote_addr = {s.addr(peer_of(s, node), wr.remote_addr)}")
        members.append(f".wr.{union}.rkey = {s.rkey(node, wr.rkey)}")
    elif wr.ah or wr.remote_qpn or wr.remote_qkey:
        members.append(f".wr.ud.ah = {s.numbered(Noun.AH, node, wr.ah)}")
        members.append(f".wr.ud.remote_qpn = {s.qpn(node, wr.remote_qpn)}")
        members.append(f".wr.ud.remote_qkey = {number(wr.remote_qkey)}")
    return members


def _of_opcode(s: Scope, node: str, wr: SendWR) -> list[str]:
    if wr.opcode == WROpcode.BIND_MW:
        return bind_members(s, node, wr)
    if wr.opcode == WROpcode.TSO:
        place = f"(void *)({s.addr(node, wr.hdr_addr)})" if wr.hdr_addr else "NULL"
        return [f".tso.hdr = {place}", f".tso.hdr_sz = {wr.hdr_sz}", f".tso.mss = {wr.mss}"]
    return []


def bind_members(s: Scope, node: str, wr: Bound) -> list[str]:
    """The member `bind_mw`: the window, its next key, and the range."""
    if not wr.mw:
        raise NotExportable("BIND_MW without a window: C would read NULL")
    key = s.rkey(node, next_window_key(s, node, wr))
    members = [f"mw = {s.numbered(Noun.MW, node, wr.mw)}", f"rkey = {key}"]
    members += [f"bind_info.{member}" for member in bind_info(s, node, wr)]
    return [f".bind_mw.{member}" for member in members]


def _ex(s: Scope) -> str:
    name = f"{s.var(s.argument('qp'))}_ex"
    if name not in s.writer.variables:
        raise NotExportable("the queue pair was not made by create_qp_ex with send_ops_flags")
    return name


def _next_fields(s: Scope, ex: str) -> list[str]:
    return [f"{line};" for line in next_fields(s, ex, lambda flags: constant(SendFlags(flags)))]


def _wr_set(s: Scope) -> Text | None:
    lines = _next_fields(s, _ex(s))
    return Text(lines[-1].rstrip(";"), before=lines[:-1], returns="nothing") if lines else None


def _builder(
    operands: Callable[[Scope, str], list[str]], returns: str = "nothing"
) -> Verb[Scope, Text]:
    def begin(s: Scope) -> Text:
        ex, node = _ex(s), s.argument("qp").node
        called = f"ibv_{s.call.word}({', '.join([ex, *operands(s, node)])})"
        return Text(called, before=_next_fields(s, ex), returns=returns)

    return Verb(begin)


def _bind_call(s: Scope) -> Text:
    ex, qp, info = _ex(s), s.argument("qp"), s.argument("info")
    members = bind_members(s, qp.node, info)
    mw, rkey, *rest = (member.removeprefix(".bind_mw.") for member in members)
    given = structure("ibv_mw_bind_info", "info", [m.replace("bind_info", "", 1) for m in rest])
    called = f"ibv_wr_bind_mw({ex}, {mw.partition(' = ')[2]}, {rkey.partition(' = ')[2]}, &info)"
    return Text(called, given, before=_next_fields(s, ex), returns="nothing")


def _data(s: Scope, node: str) -> list[str]:
    sg = s.argument("sg")
    return [s.lkey(node, sg.lkey), s.addr(node, sg.addr), number(sg.length)]


def _wr_set_sge_list(s: Scope) -> Text:
    sg, count = listed(s, "sg", "num_sge")
    given, name = sges(s, s.argument("qp").node, sg, "sg")
    called = f"ibv_wr_set_sge_list({_ex(s)}, {count}, {name or 'NULL'})"
    return Text(called, given, returns="nothing")


def _wr_set_inline_data_list(s: Scope) -> Text:
    (bufs, count), node = listed(s, "buf", "num_buf"), s.argument("qp").node
    given = ["struct ibv_data_buf buf[] = {"]
    given += [f"{TAB}{{ .addr = {s.memory(node, b.addr)}, .length = {b.length} }}," for b in bufs]
    called = f"ibv_wr_set_inline_data_list({_ex(s)}, {count}, buf)"
    return Text(called, [*given, "};"], returns="nothing")


def _ud_addr(s: Scope, node: str) -> list[str]:
    ah = s.numbered(Noun.AH, node, s.argument("ah"))
    if ah == "NULL":
        raise NotExportable("ibv_wr_set_ud_addr with NULL: C would crash")
    return [ah, s.qpn(node, s.argument("remote_qpn")), number(s.argument("remote_qkey"))]


VERBS: dict[str, Verb[Scope, Text]] = {
    "post_send": Verb(_post_send),
    "post_recv": Verb(_post_recv),
    "post_srq_recv": Verb(_post_srq_recv),
    "wr_set": Verb(_wr_set),
    "wr_complete": _builder(lambda _s, _node: [], "errno"),
    **{word: _builder(operands) for word, operands in OPERANDS.items()},
    "wr_bind_mw": Verb(_bind_call),
    "wr_set_sge": _builder(_data),
    "wr_set_sge_list": Verb(_wr_set_sge_list),
    "wr_set_inline_data_list": Verb(_wr_set_inline_data_list),
    "wr_set_ud_addr": _builder(_ud_addr),
}
