"""What was posted: by type and state, every opcode, full queues, bad input."""

from collections.abc import Callable

from rdmalab.spec.profiles import Profile
from tests.oracle.bench import RECV, TO_B, Answer, Bench

_STEPS = ("INIT", "RTR", "RTS")


def _address(bench: Bench) -> str:
    """What a datagram needs beyond other sends."""
    if bench.qp_type != "UD":
        return ""
    if bench.lab.session.names.find("A.ah0") is None:
        bench.value("create_ah A.ah0 pd=A.pd0 to=B")
    return TO_B


def by_type_and_state(profile: Profile, entry: str) -> tuple[Answer, Bench]:
    """Post in a state, go on to RTS, post again: what completes?"""
    qp_type, state = entry.split()
    bench = Bench(profile, qp_type).pair(connect="RESET")
    bench.raise_to("B", "RTS")
    bench.recv("B", 1)
    bench.recv("B", 2)
    answer: Answer = {"goto": bench.goto("A", state)}
    answer["post_recv"] = bench.recv("A", 5)
    answer["post_send"] = bench.send(6, more=_address(bench))
    answer["wc_within_250ms"] = bench.wc()
    answer["state_after"] = bench.state("A")
    if state in ("RTS", "ERR"):
        return answer, bench
    if state == "SQD":
        answer["later RTS"] = bench.move("A", "RTS", bare=True)
    else:
        for step in _STEPS[("RESET", *_STEPS).index(state) :]:
            answer[f"later {step}"] = bench.move("A", step)
    answer["wc_after_reaching_RTS"] = bench.wc()
    answer["another_post_send"] = bench.send(7, more=_address(bench))
    answer["wc_after_another_post"] = bench.wc()
    return answer, bench


_REMOTE = ("RDMA_WRITE", "RDMA_WRITE_WITH_IMM", "RDMA_READ", "FLUSH", "ATOMIC_WRITE")
_WINDOW = "mw=A.mw0 bind=A.mr0[0:64] bind_access=REMOTE_WRITE"


def opcode_by_type(profile: Profile, entry: str) -> tuple[Answer, Bench]:
    """Every opcode on every type."""
    qp_type, opcode = entry.split()
    bench = Bench(profile, qp_type).pair()
    bench.recv("B", 1)
    more, sg = [_address(bench)], "A.mr0[0:32]"
    if opcode in _REMOTE and qp_type != "UD":
        more.append("remote=B.mr0[0]")
    if opcode in ("ATOMIC_CMP_AND_SWP", "ATOMIC_FETCH_AND_ADD"):  # its operands lie where `ah` does
        more, sg = ["remote=B.mr0[0] compare_add=1"], "A.mr0[0:8]"
    if opcode == "ATOMIC_WRITE":
        sg = "A.mr0[0:8]"
    if opcode in ("SEND_WITH_INV", "LOCAL_INV"):
        more.append("invalidate_rkey=0x1234")
    if opcode == "BIND_MW":
        bench.value("alloc_mw A.mw0 pd=A.pd0 type=TYPE_2")
        more.append(_WINDOW)
    if opcode in ("LOCAL_INV", "BIND_MW"):
        sg = ""
    rc = bench.send(2, opcode, sg, " ".join(more))
    return {"rc": rc, **bench.ending()}, bench


# --------------------------------------------------------------------------- full
def queue_full(profile: Profile, entry: str) -> tuple[Answer, Bench]:
    """Post until it is refused."""
    bench, which, asked = Bench(profile), entry.split()[0], int(entry.split()[-1])
    if which == "srq":
        return _fill_srq(bench, asked), bench
    bench.pair(connect="RTS" if which == "send" else "INIT", send_wr=asked, recv_wr=asked)
    cap = bench.value("query_qp A.qp0").cap
    post: Callable[[int], object] = bench.send if which == "send" else lambda n: bench.recv("A", n)
    accepted, then = _fill(post)
    why = "peer has no receive posted, so nothing completes"
    return {
        "requested_cap": asked,
        "query_cap": [cap.max_send_wr, cap.max_recv_wr],
        "accepted": accepted,
        "then": then,
        "note": why if which == "send" else "",
    }, bench


def _fill(post: Callable[[int], object]) -> tuple[int, object]:
    for count in range(1000):
        if (rc := post(count)) != 0:
            return count, rc
    return 1000, 0


def _fill_srq(bench: Bench, asked: int) -> Answer:
    bench.node("A")
    bench.value(f"create_srq A.srq0 pd=A.pd0 max_wr={asked} max_sge=2")
    made = bench.qp("A", more="srq=A.srq0")
    assert made == 0
    post = "post_srq_recv A.srq0 wr_id={} sg=A.mr0" + RECV
    accepted, then = _fill(lambda count: bench.rc(post.format(count)))
    held = bench.value("query_srq A.srq0").max_wr
    return {"requested_max_wr": asked, "query_max_wr": held, "accepted": accepted, "then": then}
