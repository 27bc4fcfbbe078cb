"""The builders of QPEx."""

from collections.abc import Callable

from rdmalab.command import Noun, Thing
from rdmalab.export.pyverbs.objects import bind_info
from rdmalab.export.pyverbs.requests import sge
from rdmalab.export.pyverbs.text import Lines, Scope, Verb, called, lost, named, number
from rdmalab.export.replay.builders import OPERANDS, judge_start, listed, next_fields
from rdmalab.export.replay.calls import NotExportable
from rdmalab.hca.objects import inc_rkey
from rdmalab.spec.work import SendFlags


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


def _builder(operands: Callable[[Scope, str], list[str]]) -> Callable[[Scope], Lines]:
    def handler(s: Scope) -> Lines:
        ex, node = _ex(s), s.argument("qp").node
        line = f"{ex}.{s.call.word}({', '.join(operands(s, node))})"
        return Lines(line, _next_fields(s, ex))

    return handler


def _wr_start(s: Scope) -> Lines:
    judge_start(s)
    return Lines(f"{_ex(s)}.wr_start()")


def _bind_operands(s: Scope, node: str) -> list[str]:
    info = s.argument("info")
    mw = s.pointer(node, Noun.MW, info.mw)
    key = info.mw_rkey
    if key is None:
        key = inc_rkey(s.world.nodes[node].mws.items[info.mw].rkey)
    return [mw, _window_key(s, mw, Thing(Noun.MW, node, info.mw), key), bind_info(s, node, info)]


def _window_key(s: Scope, name: str, thing: Thing, key: int) -> str:
    held = s.world.nodes[thing.node].mws.items[thing.number].rkey
    return s.next_key(f"{name}.rkey") if key == inc_rkey(held) else number(key)


def _data(s: Scope, node: str) -> list[str]:
    return [sge(s, node, s.argument("sg"))]


def _data_list(s: Scope, node: str) -> list[str]:
    sg, count = listed(s, "sg", "num_sge")
    return [str(count), f"[{', '.join(sge(s, node, each) for each in sg)}]"]


def _inline(s: Scope, node: str) -> list[str]:
    buf = s.argument("buf")
    return [s.addr(node, buf.addr), number(buf.length)]


def _inline_list(s: Scope, node: str) -> list[str]:
    bufs, count = listed(s, "buf", "num_buf")
    made = [called(s.use("qp", "DataBuffer"), s.addr(node, b.addr), number(b.length)) for b in bufs]
    return [str(count), f"[{', '.join(made)}]"]


def _ud_addr(s: Scope, node: str) -> list[str]:
    ah = s.pointer(node, Noun.AH, s.argument("ah"))
    return [ah, s.qpn(node, s.argument("remote_qpn")), number(s.argument("remote_qkey"))]


VERBS: dict[str, Verb] = {
    "wr_start": Verb(_wr_start, lost),
    "wr_set": Verb(_wr_set, lost),
    "wr_complete": Verb(_builder(lambda _s, _n: [])),
    "wr_abort": Verb(_builder(lambda _s, _n: []), lost),
    **{word: Verb(_builder(operands), lost) for word, operands in OPERANDS.items()},
    "wr_bind_mw": Verb(_builder(_bind_operands), lost),
    "wr_set_sge": Verb(_builder(_data), lost),
    "wr_set_sge_list": Verb(_builder(_data_list), lost),
    "wr_set_inline_data": Verb(_builder(_inline), lost),
    "wr_set_inline_data_list": Verb(_builder(_inline_list), lost),
    "wr_set_ud_addr": Verb(_builder(_ud_addr), lost),
    "wr_set_xrc_srqn": Verb(_builder(lambda s, n: [s.srqn(n, s.argument("remote_srqn"))]), lost),
}
