"""The extended post API: which builders there are, and how a batch ends."""

from collections.abc import Callable

from rdmalab.spec.profiles import Profile
from rdmalab.spec.work import SendOps
from tests.oracle.bad_input import pieces
from tests.oracle.bench import Answer, Bench

_RC_OPS = "0x1f|0x20|0x40"  # WRITEs, SENDs, READ and atomics
_UD_OPS = "SEND|SEND_WITH_IMM"

Probe = Callable[[Bench], Answer]


def qpex_create_send_ops_flag(profile: Profile, entry: str) -> tuple[Answer, Bench]:
    """One builder asked for."""
    qp_type, _, name = entry.partition(" ")
    flags = 0 if name == "none (0)" else int(SendOps[name])
    bench = Bench(profile, qp_type)
    bench.node("A")
    return {"rc": bench.qp("A", verb="create_qp_ex", more=f"send_ops_flags={flags}")}, bench


# --------------------------------------------------------------------------- the probes' own words
def _one(bench: Bench, wr_id: int, setter: str = "wr_set_sge A.qp0 sg=A.mr0[0:16]") -> None:
    bench.value(f"wr_send A.qp0 wr_id={wr_id} wr_flags=SIGNALED")
    bench.value(setter)


def _done(bench: Bench) -> Answer:
    return {"wr_complete": bench.rc("wr_complete A.qp0")}


def _two(bench: Bench) -> Answer:
    bench.value("wr_start A.qp0")
    _one(bench, 1)
    _one(bench, 2)
    return _done(bench)


def _with(*lines: str) -> Probe:
    def probe(bench: Bench) -> Answer:
        bench.value("wr_start A.qp0 ; wr_set A.qp0 wr_id=1 wr_flags=SIGNALED")
        for line in lines:
            bench.value(line)
        return _done(bench)

    return probe


def _setter(line: str) -> Probe:
    return _with("wr_send A.qp0", line)


def _abort(bench: Bench) -> Answer:
    bench.value("wr_start A.qp0")
    _one(bench, 1)
    _one(bench, 2)
    aborted = bench.value("wr_abort A.qp0")
    bench.value("wr_start A.qp0")
    _one(bench, 3)
    return {"wr_abort": "void" if aborted is None else aborted, **_done(bench)}


def _full(bench: Bench) -> Answer:
    cap = bench.value("query_qp A.qp0").cap.max_send_wr
    bench.value("wr_start A.qp0")
    for wr_id in range(cap + 1):
        _one(bench, wr_id)
    return {**_done(bench), "built": cap + 1, "cap": cap}


def _full_then_good(bench: Bench) -> Answer:
    first = _full(bench)
    bench.value("wr_start A.qp0")
    _one(bench, 100)
    return {**first, "second batch": _done(bench)["wr_complete"]}


def _inline_too_big(bench: Bench) -> Answer:
    bench.value("wr_start A.qp0")
    _one(bench, 1)
    _one(bench, 2, "wr_set_inline_data A.qp0 buf=A.mr0[0:65]")
    _one(bench, 3)
    return _done(bench)


def _too_many(bench: Bench) -> Answer:
    count = bench.value("query_qp A.qp0").cap.max_send_sge + 1
    return _setter(f"wr_set_sge_list A.qp0 sg={pieces(count)}")(bench)


def _unsignaled(bench: Bench) -> Answer:
    bench.value("wr_start A.qp0; wr_send A.qp0 wr_id=1 wr_flags=0; wr_set_sge A.qp0 sg=A.mr0[0:16]")
    _one(bench, 2)
    return _done(bench)


def _mixed(bench: Bench) -> Answer:
    bench.value("wr_start A.qp0")
    _one(bench, 1)
    return {**_done(bench), "post_send": bench.send(2)}


_SGE = "wr_set_sge A.qp0 sg=A.mr0[0:{}]"
_INLINE = "wr_set_inline_data A.qp0 buf=A.mr0[0:64]"
_WITH_INLINE = "wr_set A.qp0 wr_flags=SIGNALED|INLINE"
_TO = "wr_set_ud_addr A.qp0 ah=A.ah0 remote_qpn=B.qp0 remote_qkey=0x11111111"

PROBES: dict[str, Probe] = {
    "ok": _two,
    "abort": _abort,
    "full": _full,
    "full_then_good": _full_then_good,
    "inline_too_big": _inline_too_big,
    "inline_ok": _setter(_INLINE),
    "inline_ok_with_INLINE_flag": _with(_WITH_INLINE, "wr_send A.qp0", _INLINE),
    "inline_flag_with_sge": _with(_WITH_INLINE, "wr_send A.qp0", _SGE.format(16)),
    "inline_list": _setter("wr_set_inline_data_list A.qp0 buf=A.mr0[0:10],A.mr0[100:120]"),
    "sge_list": _setter("wr_set_sge_list A.qp0 sg=A.mr0[0:10],A.mr0[100:120]"),
    "sge_list_too_long": _too_many,
    "no_setter": _with("wr_send A.qp0"),
    "set_sge_twice": _with("wr_send A.qp0", _SGE.format(16), "wr_set_sge A.qp0 sg=A.mr0[50:55]"),
    "setter_before_builder": _with(
        "wr_set_sge A.qp0 sg=A.mr0[50:55]", "wr_send A.qp0", _SGE.format(16)
    ),
    "complete_empty": _with(),
    "unsignaled": _unsignaled,
    "missing_op": _with("wr_rdma_write A.qp0 remote=B.mr0[0]", _SGE.format(16)),
    "unaligned_atomic": _with("wr_atomic_fetch_add A.qp0 remote=B.mr0[4] add=1", _SGE.format(8)),
    "atomic_len4": _with("wr_atomic_fetch_add A.qp0 remote=B.mr0[0] add=1", _SGE.format(4)),
    "mixed_with_post_send": _mixed,
    "ud_no_addr": _with("wr_send A.qp0", _SGE.format(16)),
    "ud_ok": _with("create_ah A.ah0 pd=A.pd0 to=B", "wr_send A.qp0", _TO, _SGE.format(16)),
    "complete_without_start": _done,
}


def _bench(
    profile: Profile, state: str = "RTS", qp_type: str = "RC", ops: str = _RC_OPS, recvs: int = 3
) -> Bench:
    """Node A with an extended queue pair, node B with a plain one that has receives."""
    bench = Bench(profile, qp_type)
    for node in "AB":
        bench.node(node)
    small = {"send_wr": 4, "send_sge": 2}
    extended = bench.qp("A", small, verb="create_qp_ex", more=f"send_ops_flags={ops}")
    plain = bench.qp("B", {"recv_wr": 32})
    assert (extended, plain) == (0, 0)
    bench.raise_to("A", state)
    bench.raise_to("B", "RTS")
    for wr_id in range(recvs):
        bench.recv("B", wr_id)
    return bench


def qpex(profile: Profile, entry: str) -> tuple[Answer, Bench]:
    """A batch in RTS."""
    if entry == "missing_op":
        bench = _bench(profile, ops="SEND")
    elif entry.startswith("ud_"):
        bench = _bench(profile, qp_type="UD", ops=_UD_OPS)
    else:
        bench = _bench(profile, recvs=20 if entry.startswith("full") else 3)
    return {**PROBES[entry](bench), **bench.ending()}, bench


def qpex_by_state(profile: Profile, entry: str) -> tuple[Answer, Bench]:
    """The same batch in another state."""
    bench = _bench(profile, entry)
    return {**_two(bench), **bench.ending()}, bench
