"""The builders of QPEx."""

from collections.abc import Callable

from rdmalab.command import Noun, Thing
from rdmalab.export.pyverbs.objects import bind_info
from rdmalab.export.pyverbs.requests import sge
from rdmalab.export.pyverbs.text import Lines, Scope, Verb, called, lost, named, number
from rdmalab.export.replay.calls import Bound, NotExportable
from rdmalab.hca.objects import inc_rkey
from rdmalab.hca.wr import swap_octets
from rdmalab.spec.work import SendFlags


def _ex(s: Scope) -> str:
    name = s.var(s.argument("qp"))
    if name not in s.writer.extended:
        raise NotExportable("the queue pair was not made by create_qp_ex with send_ops_flags")
    return name


def _next_fields(s: Scope, ex: str) -> list[str]:
    qpx = s.argument("qpx")
    if qpx is None:
        return []
    lines = [f"{ex}.wr_id = {number(qpx.wr_id)}"] if qpx.wr_id is not None else []
    if qpx.wr_flags is not None:
        lines.append(f"{ex}.wr_flags = {named(SendFlags(qpx.wr_flags))}")
    return lines


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
    if s.argument("thread") not in (None, 1):
        raise NotExportable("wr_start by another thread")
    return Lines(f"{_ex(s)}.wr_start()")


def _target(s: Scope, node: str, target: Bound) -> list[str]:
    other = next((name for name in s.world.nodes if name != node), node)
    return [s.rkey(node, target.rkey), s.addr(other, target.remote_addr)]


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
    sg, most = s.argument("sg") or [], s.argument("num_sge")
    count = len(sg) if most is None else most
    if count > len(sg):
        raise NotExportable("num_sge is more than sg_list has")
    return [str(count), f"[{', '.join(sge(s, node, each) for each in sg)}]"]


def _inline(s: Scope, node: str) -> list[str]:
    buf = s.argument("buf")
    return [s.addr(node, buf.addr), number(buf.length)]


def _inline_list(s: Scope, node: str) -> list[str]:
    bufs, most = s.argument("buf") or [], s.argument("num_buf")
    count = len(bufs) if most is None else most
    if count > len(bufs):
        raise NotExportable("num_buf is more than buf_list has")
    made = [called(s.use("qp", "DataBuffer"), s.addr(node, b.addr), number(b.length)) for b in bufs]
    return [str(count), f"[{', '.join(made)}]"]


def _ud_addr(s: Scope, node: str) -> list[str]:
    ah = s.pointer(node, Noun.AH, s.argument("ah"))
    return [ah, s.qpn(node, s.argument("remote_qpn")), number(s.argument("remote_qkey"))]


def _host_imm(s: Scope) -> str:
    return number(swap_octets(s.argument("imm_data")))


VERBS: dict[str, Verb] = {
    "wr_start": Verb(_wr_start, lost),
    "wr_set": Verb(_wr_set, lost),
    "wr_complete": Verb(_builder(lambda _s, _n: [])),
    "wr_abort": Verb(_builder(lambda _s, _n: []), lost),
    "wr_send": Verb(_builder(lambda _s, _n: []), lost),
    "wr_send_imm": Verb(_builder(lambda s, _n: [_host_imm(s)]), lost),
    "wr_send_inv": Verb(_builder(lambda s, n: [s.rkey(n, s.argument("invalidate_rkey"))]), lost),
    "wr_local_inv": Verb(_builder(lambda s, n: [s.rkey(n, s.argument("invalidate_rkey"))]), lost),
    "wr_rdma_write": Verb(_builder(lambda s, n: _target(s, n, s.argument("target"))), lost),
    "wr_rdma_write_imm": Verb(
        _builder(lambda s, n: [*_target(s, n, s.argument("target")), _host_imm(s)]), lost
    ),
    "wr_rdma_read": Verb(_builder(lambda s, n: _target(s, n, s.argument("target"))), lost),
    "wr_atomic_cmp_swp": Verb(
        _builder(
            lambda s, n: [
                *_target(s, n, s.argument("operands")),
                number(s.argument("operands").compare),
                number(s.argument("operands").swap),
            ]
        ),
        lost,
    ),
    "wr_atomic_fetch_add": Verb(
        _builder(
            lambda s, n: [
                *_target(s, n, s.argument("operands")),
                number(s.argument("operands").add),
            ]
        ),
        lost,
    ),
    "wr_send_tso": Verb(
        _builder(
            lambda s, n: [
                s.addr(n, s.argument("header").hdr_addr),
                str(s.argument("header").hdr_sz),
                str(s.argument("header").mss),
            ]
        ),
        lost,
    ),
    "wr_bind_mw": Verb(_builder(_bind_operands), lost),
    "wr_set_sge": Verb(_builder(_data), lost),
    "wr_set_sge_list": Verb(_builder(_data_list), lost),
    "wr_set_inline_data": Verb(_builder(_inline), lost),
    "wr_set_inline_data_list": Verb(_builder(_inline_list), lost),
    "wr_set_ud_addr": Verb(_builder(_ud_addr), lost),
    "wr_set_xrc_srqn": Verb(_builder(lambda s, n: [s.srqn(n, s.argument("remote_srqn"))]), lost),
}
