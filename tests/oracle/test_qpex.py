"""The extended post API as Soft-RoCE (kernel 6.1, librxe 44) answered: `qpex*` of post_errno.json.

Each probe of the record is played as lines of the lab on profile rxe. What differs is named with
its reason and with what the lab does instead.
"""

import json
from collections.abc import Callable
from errno import errorcode
from pathlib import Path
from typing import Any

import pytest

from rdmalab.lab import Lab
from rdmalab.session.lines import Reply
from rdmalab.spec.builders import SendOps
from rdmalab.spec.states import QPState
from rdmalab.spec.work import WCOpcode

RECORD: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "data/post_errno.json").read_text()
)

# Faults of the library that are not copied: what the lab does instead.
DIFFERENT: dict[str, tuple[str, dict[str, Any]]] = {
    "inline_ok": (
        "librxe sets INLINE from wr_flags only; here the setter makes the request inline",
        RECORD["qpex"]["inline_ok_with_INLINE_flag"],
    ),
    "inline_list": (
        "librxe forgets the length of an inline list; here it is the sum",
        {"wr_complete": 0, "wc": {"A.send": [[1, "SUCCESS", "SEND", 30]],
         "B.recv": [[0, "SUCCESS", "RECV", 30]]}, "state": ["RTS", "RTS"]},
    ),
    "sge_list": (
        "librxe counts n times the first length; here it is the sum",
        {"wr_complete": 0, "wc": {"A.send": [[1, "SUCCESS", "SEND", 30]],
         "B.recv": [[0, "SUCCESS", "RECV", 30]]}, "state": ["RTS", "RTS"]},
    ),
    "missing_op": (
        "a NULL pointer is called; here wr_complete tells it",
        {"wr_complete": "EINVAL", "wc": {}, "state": ["RTS", "RTS"]},
    ),
}  # fmt: skip

_RC_OPS = "0x1f|0x20|0x40"  # WRITEs, SENDs, READ and atomics
_NAMES = {95: "ENOTSUP"}  # Linux has two names for it


class Bench:
    """Node A with an extended queue pair, node B with a plain one that has receives."""

    def __init__(self, qp_type: str = "RC", ops: str = _RC_OPS, recvs: int = 3) -> None:
        self.lab = Lab(profile="rxe")
        self.qp_type = qp_type
        for node in "AB":
            self.do(f"alloc_pd {node}.pd0")
            self.do(f"reg_mr {node}.mr0 pd={node}.pd0 length=65536 access=15")
            self.do(f"create_cq {node}.send cqe=64")
            self.do(f"create_cq {node}.recv cqe=64")
        where = "send_cq={0}.send recv_cq={0}.recv"
        caps = "max_send_wr=4 max_send_sge=2 max_inline_data=64"
        common = f"qp_type={qp_type} {caps} " + where
        self.do(f"create_qp_ex A.qp0 pd=A.pd0 send_ops_flags={ops} {common.format('A')}")
        self.do(f"create_qp B.qp0 pd=B.pd0 max_recv_wr=32 {common.format('B')}")
        self.raise_to("B", "RTS")
        for wr_id in range(recvs):
            self.do(f"post_recv B.qp0 wr_id={wr_id} sg=B.mr0[32768:33792]")

    def do(self, line: str) -> Reply:
        reply = self.ask(line)
        assert not reply.failed, (line, reply.error or reply.refusal)
        return reply

    def ask(self, line: str) -> Reply:
        return self.lab.do(line)[-1]

    def raise_to(self, node: str, state: str) -> None:
        """Up to a state, by the moves its type needs."""
        peer = "B" if node == "A" else "A"
        is_ud = self.qp_type == "UD"
        qp = f"modify_qp {node}.qp0"
        init = (
            "qkey=0x11111111" if is_ud else "qp_access_flags=REMOTE_WRITE|REMOTE_READ|REMOTE_ATOMIC"
        )
        to_peer = f"path_mtu=1024 dest_qp_num={peer}.qp0 rq_psn=0 ah={peer}"
        rtr = "" if is_ud else f"{to_peer} max_dest_rd_atomic=1 min_rnr_timer=12"
        rts = "" if is_ud else "timeout=10 retry_cnt=2 rnr_retry=2 max_rd_atomic=1"
        moves = {
            "INIT": f"{qp} state=INIT pkey_index=0 port_num=1 {init}",
            "RTR": f"{qp} state=RTR {rtr}",
            "RTS": f"{qp} state=RTS sq_psn=0 {rts}",
            "SQD": f"{qp} state=SQD",
            "ERR": f"{qp} state=ERR",
        }
        order = ["RESET", "INIT", "RTR", "RTS"]
        wanted = order[1 : order.index(state) + 1] if state in order else [*order[1:], state]
        for move in wanted:
            self.do(moves[move])

    # ------------------------------------------------------------------ the probes' own words
    def one(self, wr_id: int, setter: str = "wr_set_sge A.qp0 sg=A.mr0[0:16]") -> None:
        self.do(f"wr_send A.qp0 wr_id={wr_id} wr_flags=SIGNALED")
        self.do(setter)

    def complete(self) -> Any:
        return errno_of(self.ask("wr_complete A.qp0"))

    def result(self, **more: Any) -> dict[str, Any]:
        self.lab.do("run 250ms")
        world = self.lab.session.world
        found: dict[str, list[Any]] = {}
        for node in "AB":
            for cq in ("send", "recv"):
                cqes = self.do(f"poll_cq {node}.{cq} num_entries=64").value
                told = [[c.wr_id, c.status.name, WCOpcode(c.opcode).name, c.byte_len] for c in cqes]
                found |= {f"{node}.{cq}": told} if told else {}
        states = [hca.qps.items[0x11].state.name for hca in world.nodes.values()]
        return {**more, "wc": found, "state": states}


def errno_of(reply: Reply) -> Any:
    assert reply.error is None, reply.error
    if reply.refusal is None:
        return 0
    code = reply.refusal.errno
    return _NAMES.get(code, errorcode[code])


# --------------------------------------------------------------------------- creation
@pytest.mark.parametrize("probe", RECORD["qpex_create_send_ops_flag"])
def test_which_builders_a_type_has(probe: str) -> None:
    qp_type, _, name = probe.partition(" ")
    flags = 0 if name == "none (0)" else int(SendOps[name])
    lab = Lab(profile="rxe")
    lab.do("alloc_pd A.pd0; create_cq A.cq0 cqe=16")
    line = f"create_qp_ex A.qp0 pd=A.pd0 qp_type={qp_type} send_cq=A.cq0 recv_cq=A.cq0"
    asked = lab.do(f"{line} send_ops_flags={flags}")[-1]
    assert {"rc": errno_of(asked)} == RECORD["qpex_create_send_ops_flag"][probe]


# --------------------------------------------------------------------------- batches
def _two(bench: Bench) -> dict[str, Any]:
    bench.do("wr_start A.qp0")
    bench.one(1)
    bench.one(2)
    return bench.result(wr_complete=bench.complete())


def _with(*lines: str, wr_id: int = 1) -> Callable[[Bench], dict[str, Any]]:
    def probe(bench: Bench) -> dict[str, Any]:
        bench.do(f"wr_start A.qp0 ; wr_set A.qp0 wr_id={wr_id} wr_flags=SIGNALED")
        for line in lines:
            bench.do(line)
        return bench.result(wr_complete=bench.complete())

    return probe


def _setter(line: str) -> Callable[[Bench], dict[str, Any]]:
    return _with("wr_send A.qp0", line)


def _abort(bench: Bench) -> dict[str, Any]:
    bench.do("wr_start A.qp0")
    bench.one(1)
    bench.one(2)
    aborted = bench.do("wr_abort A.qp0").value
    bench.do("wr_start A.qp0")
    bench.one(3)
    told = {"wr_abort": "void" if aborted is None else aborted}
    return bench.result(wr_complete=bench.complete(), **told)


def _full(bench: Bench) -> dict[str, Any]:
    cap = bench.lab.look("A.qp0.sq.capacity")
    bench.do("wr_start A.qp0")
    for wr_id in range(cap + 1):
        bench.one(wr_id)
    return {"wr_complete": bench.complete(), "built": cap + 1, "cap": cap}


def _full_then_good(bench: Bench) -> dict[str, Any]:
    first = _full(bench)
    bench.do("wr_start A.qp0")
    bench.one(100)
    return bench.result(**first, **{"second batch": bench.complete()})


def _inline_too_big(bench: Bench) -> dict[str, Any]:
    bench.do("wr_start A.qp0")
    bench.one(1)
    bench.one(2, "wr_set_inline_data A.qp0 buf=A.mr0[0:65]")
    bench.one(3)
    return bench.result(wr_complete=bench.complete())


def _unsignaled(bench: Bench) -> dict[str, Any]:
    bench.do("wr_start A.qp0; wr_send A.qp0 wr_id=1 wr_flags=0; wr_set_sge A.qp0 sg=A.mr0[0:16]")
    bench.one(2)
    return bench.result(wr_complete=bench.complete())


def _mixed(bench: Bench) -> dict[str, Any]:
    bench.do("wr_start A.qp0")
    bench.one(1)
    done = bench.complete()
    line = "post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[0:32] flags=SIGNALED"
    return bench.result(wr_complete=done, post_send=errno_of(bench.ask(line)))


def _too_many(bench: Bench) -> dict[str, Any]:
    count = bench.lab.session.world.nodes["A"].qps.items[0x11].cap.max_send_sge + 1
    pieces = ",".join(f"A.mr0[{n}:{n + 1}]" for n in range(count))
    return _setter(f"wr_set_sge_list A.qp0 sg={pieces}")(bench)


_SGE = "wr_set_sge A.qp0 sg=A.mr0[0:{}]"
_INLINE = "wr_set_inline_data A.qp0 buf=A.mr0[0:64]"
_WITH_INLINE = "wr_set A.qp0 wr_flags=SIGNALED|INLINE"
_TO = "wr_set_ud_addr A.qp0 ah=A.ah0 remote_qpn=B.qp0 remote_qkey=0x11111111"

PROBES: dict[str, Callable[[Bench], dict[str, Any]]] = {
    "ok": _two,
    "abort": _abort,
    "full": lambda bench: bench.result(**_full(bench)),
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
    "complete_without_start": lambda bench: bench.result(wr_complete=bench.complete()),
}


def _bench_for(probe: str) -> Bench:
    if probe == "missing_op":
        bench = Bench(ops="SEND")
    elif probe.startswith("ud_"):
        bench = Bench("UD", ops="SEND|SEND_WITH_IMM")
    else:
        bench = Bench(recvs=20 if probe.startswith("full") else 3)
    bench.raise_to("A", "RTS")
    return bench


def test_every_probe_of_the_record_is_played() -> None:
    assert list(PROBES) == list(RECORD["qpex"])
    assert set(DIFFERENT) <= set(PROBES)


@pytest.mark.parametrize("probe", PROBES)
def test_a_batch_ends_as_recorded(probe: str) -> None:
    wanted = RECORD["qpex"][probe]
    if probe in DIFFERENT:
        _reason, instead = DIFFERENT[probe]
        assert wanted != instead  # or it is no difference
        wanted = instead
    assert PROBES[probe](_bench_for(probe)) == wanted


@pytest.mark.parametrize("state", RECORD["qpex_by_state"])
def test_a_batch_in_each_state(state: str) -> None:
    assert state in QPState.__members__
    bench = Bench()
    bench.raise_to("A", state)
    assert _two(bench) == RECORD["qpex_by_state"][state]
