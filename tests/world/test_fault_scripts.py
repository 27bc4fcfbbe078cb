"""Whatever a script of faults does to a reliable connection: once, in order, right at the end."""

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rdmalab.lab import Lab
from tests.each import examples
from tests.labs import everything, fingerprint, played_again, well

_WAYS = ["A->B", "B->A", ""]
_SIZE = 600  # bytes of a message, three packets
_COUNT = 6  # messages, of four kinds


@st.composite
def fault(draw: st.DrawFn) -> str:
    """Any fault of the cable. What loses packets is bounded: sooner or later all get through."""
    what = draw(
        st.sampled_from(["drop", "corrupt", "duplicate", "delay", "reorder", "rate", "mark"])
    )
    words = ["fault", what, draw(st.sampled_from(_WAYS))]
    words += {
        "corrupt": [f"byte={draw(st.integers(14, 120))}", f"bit={draw(st.integers(0, 7))}"],
        "duplicate": [f"after={draw(st.integers(0, 4000))}ns"],
        "delay": [f"by={draw(st.integers(1, 4000))}ns"],
        "reorder": [f"behind={draw(st.integers(1, 3))}", "limit=5us"],
        "rate": [f"rate={draw(st.sampled_from(['1Gbps', '300Mbps']))}"],
    }.get(what, [])
    loses = what in ("drop", "corrupt")
    words.append(f"count={draw(st.integers(1, 4 if loses else 12))}")
    words += draw(st.sampled_from([[], ["nth=2"], ["every=3"], ["p=30%"], ["qp=A.qp0"]]))
    return " ".join(words)


scripts = st.lists(fault(), min_size=1, max_size=5)
# A request each: what it does, what its first byte is.
_REQUESTS = ["SEND", "RDMA_WRITE", "RDMA_READ", "ATOMIC_FETCH_AND_ADD", "SEND", "RDMA_WRITE"]


def played(script: list[str], seed: int, order: list[str]) -> Lab:
    """All requests at once, under these faults, until nothing happens any more."""
    lab = Lab(seed=seed)
    well(lab, "use rc_pair mtu=256 length=16384 timeout=3 retry_cnt=7 max_rd_atomic=2 "
              "max_dest_rd_atomic=2 max_recv_wr=16")  # fmt: skip
    for node, first in (("A", 1), ("B", 101)):
        for n in range(_COUNT):
            start = n * 1024
            well(lab, f"fill {node}.mr0[{start}:{start + _SIZE}] {first + n}")
    well(lab, "fill B.mr0[8000:8008] 0")
    for n in range(order.count("SEND")):
        well(lab, f"post_recv B.qp0 wr_id={50 + n} sg=B.mr0[{9000 + n * 1024}:{10024 + n * 1024}]")
    for line in script:
        well(lab, line)
    for n, opcode in enumerate(order):
        well(lab, _request(n, opcode))
    well(lab, "run")
    return lab


def _request(n: int, opcode: str) -> str:
    """Reads and atomics bring their data to the upper half of A's memory."""
    head = f"post_send A.qp0 wr_id={n} opcode={opcode} flags=SIGNALED"
    start = n * 1024
    if opcode == "SEND":
        return f"{head} sg=A.mr0[{start}:{start + _SIZE}]"
    if opcode == "RDMA_WRITE":
        return f"{head} sg=A.mr0[{start}:{start + _SIZE}] remote=B.mr0[{start}]"
    if opcode == "RDMA_READ":
        return f"{head} sg=A.mr0[{8192 + start}:{8192 + start + _SIZE}] remote=B.mr0[{start}]"
    return f"{head} sg=A.mr0[{8192 + start}:{8200 + start}] remote=B.mr0[8000] compare_add=1"


def polled(lab: Lab, cq: str) -> list[Any]:
    return [(cqe.wr_id, cqe.status) for cqe in well(lab, f"poll_cq {cq} num_entries=16").value]


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow])
@given(scripts, st.integers(0, 3), st.permutations(_REQUESTS))
def test_each_request_is_done_once_in_order_and_memory_ends_right(
    script: list[str], seed: int, order: list[str]
) -> None:
    lab = played(script, seed, order)
    assert polled(lab, "A.cq0") == [(n, 0) for n in range(_COUNT)]
    assert polled(lab, "B.cq0") == [(50 + n, 0) for n in range(order.count("SEND"))]
    ours, theirs = (well(lab, f"read {node}.mr0[0:16384]").value for node in "AB")
    sends = 0
    for n, opcode in enumerate(order):
        start, data = n * 1024, bytes([1 + n]) * _SIZE
        if opcode == "SEND":
            place = 9000 + sends * 1024
            assert theirs[place : place + _SIZE] == data
            sends += 1
        elif opcode == "RDMA_WRITE":
            assert theirs[start : start + _SIZE] == data
        elif opcode == "RDMA_READ":
            assert ours[8192 + start : 8192 + start + _SIZE] == bytes([101 + n]) * _SIZE
    assert int.from_bytes(theirs[8000:8008], "little") == order.count("ATOMIC_FETCH_AND_ADD")


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(scripts, st.integers(0, 9))
def test_the_same_seed_is_the_same_history(script: list[str], seed: int) -> None:
    one, other = played(script, seed, _REQUESTS), played(script, seed, _REQUESTS)
    assert fingerprint(one) == fingerprint(other)
    again = played_again(one, Lab(seed=seed))
    assert everything(again) == everything(one)


def test_another_seed_is_another_history() -> None:
    prints = {fingerprint(played(["fault drop p=30%"], seed, _REQUESTS)) for seed in range(6)}
    assert len(prints) == 6


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(scripts, st.data())
def test_going_back_and_forth_changes_nothing(script: list[str], data: st.DataObject) -> None:
    """What faults have counted, hold and have drawn goes back with the rest of the world."""
    lab = played(script, 3, _REQUESTS)
    session, before = lab.session, everything(lab)
    here = session.history.here
    event = data.draw(st.integers(14, here.event))
    session.history.seek(session.history.place_after(event))
    session.history.seek(here)
    assert everything(lab) == before


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.one_of(
            fault(),
            st.builds(
                "fault {} {} {}".format,
                st.just("dereg"), st.sampled_from(["A.mr0", "B.mr0"]),
                st.sampled_from(["nth=1", "nth=5", "at=1us", "at=9us", "B->A", ""]),
            ),
            st.builds(
                "fault {} {} {}".format,
                st.just("kill"), st.sampled_from(["A.qp0", "B.qp0"]),
                st.sampled_from(["nth=1", "nth=5", "at=1us", "at=9us", "B->A", ""]),
            ),
        ),
        min_size=1, max_size=5,
    )
)  # fmt: skip
def test_nothing_stumbles_over_any_fault_at_any_packet(script: list[str]) -> None:
    lab = Lab()
    well(lab, "use rc_pair mtu=256 timeout=3 retry_cnt=2")
    well(lab, "post_recv B.qp0 sg=B.mr0[0:2000]")
    for line in script:
        well(lab, line)
    for opcode in ("SEND", "RDMA_WRITE", "RDMA_READ", "ATOMIC_FETCH_AND_ADD"):
        remote = "" if opcode == "SEND" else "remote=B.mr0"
        length = 8 if opcode.startswith("ATOMIC") else 700
        well(lab, f"post_send A.qp0 opcode={opcode} sg=A.mr0[0:{length}] {remote} flags=SIGNALED")
    well(lab, "run")
    count = lab.look("A.cq0.count")
    assert count == 4, "each ends, well or not"
