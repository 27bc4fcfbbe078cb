"""The functions ibv_wr_*."""

from collections.abc import Callable

from rdmalab.command import Noun
from rdmalab.export.c.requests import bind_members, imm, remote, sges
from rdmalab.export.c.text import TAB, Scope, Text, Verb, structure
from rdmalab.export.replay.calls import Bound, NotExportable
from rdmalab.export.replay.values import constant, number
from rdmalab.spec.work import SendFlags


def _ex(s: Scope) -> str:
    name = f"{s.var(s.argument('qp'))}_ex"
    if name not in s.writer.variables:
        raise NotExportable("the queue pair was not made by create_qp_ex with send_ops_flags")
    return name


def _wr_start(s: Scope) -> Text:
    if s.argument("thread") not in (None, 1):
        raise NotExportable("wr_start by another thread")
    return Text("ibv_wr_start", f"ibv_wr_start({_ex(s)})", returns="nothing")


def _next_fields(s: Scope, ex: str) -> list[str]:
    qpx = s.argument("qpx")
    if qpx is None:
        return []
    lines = [f"{ex}->wr_id = {number(qpx.wr_id)};"] if qpx.wr_id is not None else []
    if qpx.wr_flags is not None:
        lines.append(f"{ex}->wr_flags = {constant(SendFlags(qpx.wr_flags))};")
    return lines


def _wr_set(s: Scope) -> Text | None:
    lines = _next_fields(s, _ex(s))
    return Text("", lines[-1].rstrip(";"), before=lines[:-1], returns="nothing") if lines else None


def _builder(function: str, operands: Callable[[Scope, str], list[str]]) -> Callable[[Scope], Text]:
    def handler(s: Scope) -> Text:
        ex, node = _ex(s), s.argument("qp").node
        called = f"ibv_{function}({', '.join([ex, *operands(s, node)])})"
        return Text(f"ibv_{function}", called, before=_next_fields(s, ex), returns="nothing")

    return handler


def _target(s: Scope, node: str, target: Bound) -> list[str]:
    return [s.rkey(node, target.rkey), remote(s, node, target.remote_addr)]


def _bind_call(s: Scope) -> Text:
    ex, qp, info = _ex(s), s.argument("qp"), s.argument("info")
    members = bind_members(s, qp.node, info)
    mw, rkey, *rest = (member.removeprefix(".bind_mw.") for member in members)
    given = structure("ibv_mw_bind_info", "info", [m.replace("bind_info", "", 1) for m in rest])
    called = f"ibv_wr_bind_mw({ex}, {mw.partition(' = ')[2]}, {rkey.partition(' = ')[2]}, &info)"
    return Text("ibv_wr_bind_mw", called, given, before=_next_fields(s, ex), returns="nothing")


def _wr_complete(s: Scope) -> Text:
    return Text("ibv_wr_complete", f"ibv_wr_complete({_ex(s)})")


def _wr_abort(s: Scope) -> Text:
    return Text("ibv_wr_abort", f"ibv_wr_abort({_ex(s)})", returns="nothing")


def _wr_set_sge(s: Scope) -> Text:
    sg, node = s.argument("sg"), s.argument("qp").node
    pieces = [s.lkey(node, sg.lkey), s.addr(node, sg.addr), number(sg.length)]
    called = f"ibv_wr_set_sge({', '.join([_ex(s), *pieces])})"
    return Text("ibv_wr_set_sge", called, returns="nothing")


def _wr_set_sge_list(s: Scope) -> Text:
    sg, most = s.argument("sg") or [], s.argument("num_sge")
    if most is not None and most > len(sg):
        raise NotExportable("num_sge is more than sg_list has: C would read beyond its end")
    given, name = sges(s, s.argument("qp").node, sg, "sg")
    count = len(sg) if most is None else most
    called = f"ibv_wr_set_sge_list({_ex(s)}, {count}, {name or 'NULL'})"
    return Text("ibv_wr_set_sge_list", called, given, returns="nothing")


def _wr_set_inline_data(s: Scope) -> Text:
    buf, node = s.argument("buf"), s.argument("qp").node
    called = f"ibv_wr_set_inline_data({_ex(s)}, (void *)({s.addr(node, buf.addr)}), {buf.length})"
    return Text("ibv_wr_set_inline_data", called, returns="nothing")


def _wr_set_inline_data_list(s: Scope) -> Text:
    bufs, most, node = s.argument("buf") or [], s.argument("num_buf"), s.argument("qp").node
    if most is not None and most > len(bufs):
        raise NotExportable("num_buf is more than buf_list has: C would read beyond its end")
    given = ["struct ibv_data_buf buf[] = {"]
    given += [
        f"{TAB}{{ .addr = (void *)({s.addr(node, b.addr)}), .length = {b.length} }}," for b in bufs
    ]
    count = len(bufs) if most is None else most
    called = f"ibv_wr_set_inline_data_list({_ex(s)}, {count}, buf)"
    return Text("ibv_wr_set_inline_data_list", called, [*given, "};"], returns="nothing")


def _wr_set_ud_addr(s: Scope) -> Text:
    node = s.argument("qp").node
    ah = s.numbered(Noun.AH, node, s.argument("ah"))
    if ah == "NULL":
        raise NotExportable("ibv_wr_set_ud_addr with NULL: C would crash")
    called = (
        f"ibv_wr_set_ud_addr({_ex(s)}, {ah}, {s.qpn(node, s.argument('remote_qpn'))}, "
        f"{number(s.argument('remote_qkey'))})"
    )
    return Text("ibv_wr_set_ud_addr", called, returns="nothing")


def _wr_set_xrc_srqn(s: Scope) -> Text:
    srqn = s.srqn(s.argument("qp").node, s.argument("remote_srqn"))
    return Text("ibv_wr_set_xrc_srqn", f"ibv_wr_set_xrc_srqn({_ex(s)}, {srqn})", returns="nothing")


VERBS: dict[str, Verb] = {
    "wr_start": Verb(_wr_start),
    "wr_set": Verb(_wr_set),
    "wr_complete": Verb(_wr_complete),
    "wr_abort": Verb(_wr_abort),
    "wr_send": Verb(_builder("wr_send", lambda _s, _n: [])),
    "wr_send_imm": Verb(_builder("wr_send_imm", lambda s, _n: [imm(s.argument("imm_data"))])),
    "wr_send_inv": Verb(
        _builder("wr_send_inv", lambda s, n: [s.rkey(n, s.argument("invalidate_rkey"))])
    ),
    "wr_local_inv": Verb(
        _builder("wr_local_inv", lambda s, n: [s.rkey(n, s.argument("invalidate_rkey"))])
    ),
    "wr_rdma_write": Verb(
        _builder("wr_rdma_write", lambda s, n: _target(s, n, s.argument("target")))
    ),
    "wr_rdma_write_imm": Verb(
        _builder(
            "wr_rdma_write_imm",
            lambda s, n: [*_target(s, n, s.argument("target")), imm(s.argument("imm_data"))],
        )
    ),
    "wr_rdma_read": Verb(
        _builder("wr_rdma_read", lambda s, n: _target(s, n, s.argument("target")))
    ),
    "wr_atomic_cmp_swp": Verb(
        _builder(
            "wr_atomic_cmp_swp",
            lambda s, n: [
                *_target(s, n, s.argument("operands")),
                number(s.argument("operands").compare),
                number(s.argument("operands").swap),
            ],
        )
    ),
    "wr_atomic_fetch_add": Verb(
        _builder(
            "wr_atomic_fetch_add",
            lambda s, n: [
                *_target(s, n, s.argument("operands")),
                number(s.argument("operands").add),
            ],
        )
    ),
    "wr_send_tso": Verb(
        _builder(
            "wr_send_tso",
            lambda s, n: [
                f"(void *)({s.addr(n, s.argument('header').hdr_addr)})",
                str(s.argument("header").hdr_sz),
                str(s.argument("header").mss),
            ],
        )
    ),
    "wr_bind_mw": Verb(_bind_call),
    "wr_set_sge": Verb(_wr_set_sge),
    "wr_set_sge_list": Verb(_wr_set_sge_list),
    "wr_set_inline_data": Verb(_wr_set_inline_data),
    "wr_set_inline_data_list": Verb(_wr_set_inline_data_list),
    "wr_set_ud_addr": Verb(_wr_set_ud_addr),
    "wr_set_xrc_srqn": Verb(_wr_set_xrc_srqn),
}
