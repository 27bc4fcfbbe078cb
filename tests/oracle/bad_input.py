"""What is wrong in itself, posted on an RC queue pair in RTS; and what only looks wrong."""

from collections.abc import Callable
from typing import Any

from rdmalab.spec.profiles import Profile
from tests.oracle.bench import Answer, Bench, errno_of

_ADD = "ATOMIC_FETCH_AND_ADD"
_WINDOW = "mw=A.mw0 bind=A.mr0[0:64] bind_access=REMOTE_WRITE"
_FIRST = 21  # wr_id of the first in a list

Probe = Callable[[Bench, Any], Answer]


def pieces(count: int) -> str:
    """So many SGEs of one byte."""
    return ",".join(f"A.mr0[{n}:{n + 1}]" for n in range(count))


def _keyless(bench: Bench, length: int) -> str:
    where = bench.lab.look("A.mr0.addr")
    return f"{{addr={where} length={length} lkey=0xdead00}}"


def _sends(sg: Callable[[Bench, Any], str], opcode: Any = "SEND", more: str = "") -> Probe:
    return lambda bench, cap: {"rc": bench.send(2, opcode, sg(bench, cap), more)}


def _recvs(sg: Callable[[Bench, Any], str]) -> Probe:
    return lambda bench, cap: {"rc": bench.recv("A", 2, sg(bench, cap))}


def _bytes(length: int, start: int = 0) -> Callable[[Bench, Any], str]:
    return lambda _bench, _cap: f"A.mr0[{start}:{start + length}]" if length else ""


def _inline(length: int) -> Probe:
    return _sends(_bytes(length), more="flags=SIGNALED|INLINE")


def _atomic(length: int, start: int = 0, remote: int = 0) -> Probe:
    return _sends(_bytes(length, start), _ADD, f"remote=B.mr0[{remote}] compare_add=1")


def _uncounted(verb: str) -> Probe:
    opcode = "opcode=SEND" if verb == "post_send" else ""
    line = f"{verb} A.qp0 wr_id=2 {opcode} sg=A.mr0[0:8] num_sge=-1"
    return lambda bench, _cap: {"rc": bench.rc(line)}


def _too_long(bench: Bench, _cap: Any) -> Answer:
    bench.value("reg_mr A.big pd=A.pd0 length=8388609 access=31")
    return {"rc": bench.send(2, "RDMA_WRITE", "A.big[0:8388609]", "remote=B.mr0[0]")}


def _bind_with_sge(bench: Bench, _cap: Any) -> Answer:
    bench.value("alloc_mw A.mw0 pd=A.pd0 type=TYPE_2")
    return {"rc": bench.send(2, "BIND_MW", "A.mr0[0:8]", _WINDOW)}


def _listed(bench: Bench, verb: str, good: str, bad: str) -> Answer:
    """Three requests, the second has too many pieces."""
    fields = enumerate((good, bad, good), _FIRST)
    wrs = " ".join(f"wr={{wr_id={wr_id} {field}}}" for wr_id, field in fields)
    reply = bench.ask(f"{verb} A.qp0 {wrs}")
    assert reply.refusal is not None
    at = reply.refusal.bad_wr
    return {"rc": errno_of(reply), "bad_wr.wr_id": None if at is None else _FIRST + at}


def _send_list(bench: Bench, cap: Any) -> Answer:
    for wr_id in (2, 3):
        bench.recv("B", wr_id)
    send = "opcode=SEND flags=SIGNALED sg="
    return _listed(bench, "post_send", f"{send}A.mr0[0:32]", send + pieces(cap.max_send_sge + 1))


def _recv_list(bench: Bench, cap: Any) -> Answer:
    many = pieces(cap.max_recv_sge + 1)
    answer = _listed(bench, "post_recv", "sg=A.mr0[0:8]", f"sg={many}")
    bench.move("A", "ERR")
    return answer


_PROBES: dict[str, Probe] = {
    "send num_sge=max+1": _sends(lambda _bench, cap: pieces(cap.max_send_sge + 1)),
    "send num_sge=requested+1": _sends(lambda _bench, _cap: pieces(3)),
    "recv num_sge=max+1": _recvs(lambda _bench, cap: pieces(cap.max_recv_sge + 1)),
    "recv num_sge=requested+1": _recvs(lambda _bench, _cap: pieces(3)),
    "send num_sge=-1": _uncounted("post_send"),
    "recv num_sge=-1": _uncounted("post_recv"),
    "inline 64": _inline(64),
    "inline 65": _inline(65),
    "inline 400": _inline(400),
    "inline 1024": _inline(1024),
    "RDMA_READ with INLINE": _sends(
        _bytes(8), "RDMA_READ", "remote=B.mr0[0] flags=SIGNALED|INLINE"
    ),
    "atomic len 0": _atomic(0),
    "atomic len 4": _atomic(4),
    "atomic len 8": _atomic(8),
    "atomic len 16": _atomic(16),
    "atomic remote address not 8-aligned": _atomic(8, remote=4),
    "atomic local address not 8-aligned": _atomic(8, start=3),
    "send unknown lkey": _sends(lambda bench, _cap: _keyless(bench, 8)),
    "recv unknown lkey": _recvs(lambda bench, _cap: _keyless(bench, 8)),
    "opcode 12": _sends(_bytes(32), 12),
    "opcode 50": _sends(_bytes(32), 50),
    "opcode 255": _sends(_bytes(32), 255),
    "send_flags 0x80": _sends(_bytes(32), more="flags=0x80"),
    "send_flags 0x10": _sends(_bytes(32), more="flags=0x10"),
    "list good,bad,good": _send_list,
    "recv list good,bad,good": _recv_list,
    "message longer than max_msg_sz (8 MiB + 1)": _too_long,
    "zero-length SGE with garbage lkey": _sends(lambda bench, _cap: _keyless(bench, 0)),
    "BIND_MW through post_send with an SGE": _bind_with_sge,
}


def bad_input_rc_rts(profile: Profile, entry: str) -> tuple[Answer, Bench]:
    """One probe, with what the queue pair could do."""
    bench = Bench(profile).pair(send_sge=2, recv_sge=2)
    bench.recv("B", 1)
    cap = bench.value("query_qp A.qp0").cap
    answer = {"cap": [cap.max_send_sge, cap.max_recv_sge, cap.max_inline_data]}
    return {**answer, **_PROBES[entry](bench, cap), **bench.ending()}, bench
