"""The functions ibv_wr_*."""

from collections.abc import Callable

from rdmalab.command import Noun
from rdmalab.export.c.requests import bind_members, sges
from rdmalab.export.c.text import TAB, Scope, Text, Verb, structure
from rdmalab.export.replay.builders import OPERANDS, Operands, judge_start, listed, next_fields
from rdmalab.export.replay.calls import NotExportable
from rdmalab.export.replay.values import constant, number
from rdmalab.spec.work import SendFlags


def _ex(s: Scope) -> str:
    name = f"{s.var(s.argument('qp'))}_ex"
    if name not in s.writer.variables:
        raise NotExportable("the queue pair was not made by create_qp_ex with send_ops_flags")
    return name


def _next_fields(s: Scope, ex: str) -> list[str]:
    return [f"{line};" for line in next_fields(s, ex, lambda flags: constant(SendFlags(flags)))]


def _wr_start(s: Scope) -> Text:
    judge_start(s)
    return Text("ibv_wr_start", f"ibv_wr_start({_ex(s)})", returns="nothing")


def _wr_set(s: Scope) -> Text | None:
    lines = _next_fields(s, _ex(s))
    return Text("", lines[-1].rstrip(";"), before=lines[:-1], returns="nothing") if lines else None


def _builder(function: str, operands: Operands) -> Callable[[Scope], Text]:
    def handler(s: Scope) -> Text:
        ex, node = _ex(s), s.argument("qp").node
        called = f"{function}({', '.join([ex, *operands(s, node)])})"
        return Text(function, called, before=_next_fields(s, ex), returns="nothing")

    return handler


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
    sg, count = listed(s, "sg", "num_sge")
    given, name = sges(s, s.argument("qp").node, sg, "sg")
    called = f"ibv_wr_set_sge_list({_ex(s)}, {count}, {name or 'NULL'})"
    return Text("ibv_wr_set_sge_list", called, given, returns="nothing")


def _wr_set_inline_data(s: Scope) -> Text:
    buf, node = s.argument("buf"), s.argument("qp").node
    called = f"ibv_wr_set_inline_data({_ex(s)}, {s.memory(node, buf.addr)}, {buf.length})"
    return Text("ibv_wr_set_inline_data", called, returns="nothing")


def _wr_set_inline_data_list(s: Scope) -> Text:
    (bufs, count), node = listed(s, "buf", "num_buf"), s.argument("qp").node
    given = ["struct ibv_data_buf buf[] = {"]
    given += [f"{TAB}{{ .addr = {s.memory(node, b.addr)}, .length = {b.length} }}," for b in bufs]
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
    **{word: Verb(_builder(f"ibv_{word}", operands)) for word, operands in OPERANDS.items()},
    "wr_bind_mw": Verb(_bind_call),
    "wr_set_sge": Verb(_wr_set_sge),
    "wr_set_sge_list": Verb(_wr_set_sge_list),
    "wr_set_inline_data": Verb(_wr_set_inline_data),
    "wr_set_inline_data_list": Verb(_wr_set_inline_data_list),
    "wr_set_ud_addr": Verb(_wr_set_ud_addr),
    "wr_set_xrc_srqn": Verb(_wr_set_xrc_srqn),
}
