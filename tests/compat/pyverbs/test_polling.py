"""Polls that find nothing: too early is seen, a loop goes on quickly, one without end is told."""

from collections.abc import Iterator
from typing import Any

import pytest

from rdmalab.compat import process
from rdmalab.compat.process import CALL_NS, here
from rdmalab.compat.pyverbs.addr import AHAttr, GlobalRoute
from rdmalab.compat.pyverbs.cq import CQ, CQEX, CqInitAttrEx
from rdmalab.compat.pyverbs.device import Context
from rdmalab.compat.pyverbs.libibverbs_enums import ibv_wc_status
from rdmalab.compat.pyverbs.mr import MR
from rdmalab.compat.pyverbs.pd import PD
from rdmalab.compat.pyverbs.pyverbs_error import PyverbsError
from rdmalab.compat.pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from rdmalab.compat.pyverbs.wr import SGE, RecvWR, SendWR
from rdmalab.spec.states import QPType

MS = 1_000_000
ENOENT = 2
NOWHERE = 0xFFFFF  # the number of no queue pair


class End:
    """One side of an RC connection; `extended`: with a CQ that is polled the extended way."""

    def __init__(self, device: str, *, extended: bool = False) -> None:
        self.context = Context(name=device)
        self.pd = PD(self.context)
        self.cq: Any = CQEX(self.context, CqInitAttrEx(16)) if extended else CQ(self.context, 16)
        self.mr = MR(self.pd, 64, 1)
        init = QPInitAttr(qp_type=QPType.RC, scq=self.cq, rcq=self.cq, cap=QPCap(8, 8))
        self.qp = QP(self.pd, init)

    def connect(self, other: "End", number: int | None = None, timeout: int = 14) -> None:
        attr = QPAttr(port_num=1)
        route = GlobalRoute(dgid=other.context.query_gid(1, 1), sgid_index=1)
        attr.ah_attr = AHAttr(is_global=1, gr=route)
        attr.dest_qp_num = other.qp.qp_num if number is None else number
        attr.timeout, attr.retry_cnt, attr.rnr_retry = timeout, 7, 7
        attr.max_rd_atomic = attr.max_dest_rd_atomic = 1
        self.qp.to_rts(attr)

    def send(self) -> None:
        self.qp.post_send(SendWR(7, num_sge=1, sg=[SGE(self.mr.buf, 8, self.mr.lkey)]))

    def receive(self) -> None:
        self.qp.post_recv(RecvWR(8, 1, [SGE(self.mr.buf, 64, self.mr.lkey)]))


@pytest.fixture
def ends() -> Iterator[tuple[End, End]]:
    process.begin()
    pair = End("rdmalab0"), End("rdmalab1")
    pair[0].connect(pair[1])
    pair[1].connect(pair[0])
    pair[1].receive()
    yield pair
    for end in pair:
        end.context.close()


def polls_until_one(cq: CQ, most: int = 10_000) -> int:
    """How many polls it takes until there is a completion."""
    for count in range(1, most):
        if cq.poll()[0]:
            return count
    raise AssertionError(f"no completion after {most} polls")


def test_a_program_that_polls_too_early_gets_nothing(ends: tuple[End, End]) -> None:
    ends[0].send()
    before = here().world.now_ns
    assert ends[0].cq.poll() == (0, [])
    assert here().world.now_ns == before + CALL_NS


def test_a_program_that_waits_before_it_polls_gets_it_at_once(ends: tuple[End, End]) -> None:
    ends[0].send()
    here().sleep(10_000)
    count, found = ends[0].cq.poll()
    assert (count, found[0].wr_id) == (1, 7)


def test_a_busy_loop_ends_after_as_many_polls_as_there_is_to_see(ends: tuple[End, End]) -> None:
    ends[0].send()
    assert polls_until_one(ends[0].cq) <= 5
    assert polls_until_one(ends[1].cq) == 1


def test_after_each_post_a_poll_can_be_too_early_again(ends: tuple[End, End]) -> None:
    ends[1].receive()
    for _ in range(2):
        ends[0].send()
        assert ends[0].cq.poll()[0] == 0
        polls_until_one(ends[0].cq)


def test_bytes_can_be_seen_before_the_completion_is_polled(ends: tuple[End, End]) -> None:
    """A poll does not run past them to a completion, so that a program can find them first."""
    ends[0].mr.write(b"visible!", 8)
    ends[0].send()
    seen = []
    while not ends[0].cq.poll()[0]:
        seen.append(ends[1].mr.read(8, 0))
    assert seen[0] != b"visible!"
    assert seen[-1] == b"visible!"


def test_two_queues_polled_in_turn_bring_each_other_on(ends: tuple[End, End]) -> None:
    ends[0].send()
    left, polls = {end.cq for end in ends}, 0
    while left:
        left -= {cq for cq in left if cq.poll()[0]}
        polls += 1
    assert polls <= 6


def test_a_loop_over_a_timeout_of_seconds_takes_few_polls() -> None:
    process.begin()
    one, other = End("rdmalab0"), End("rdmalab1")
    one.connect(other, NOWHERE, timeout=17)  # 537 ms, eight times
    one.send()
    start = here().world.now_ns
    polls = 0
    while not (answer := one.cq.poll())[0]:
        polls += 1
    assert answer[1][0].status == ibv_wc_status.IBV_WC_RETRY_EXC_ERR
    assert here().world.now_ns - start > 2_000 * MS
    assert polls < 10_000


def test_an_extended_queue_is_polled_too_early_in_the_same_way() -> None:
    process.begin()
    one, other = End("rdmalab0", extended=True), End("rdmalab1")
    one.connect(other)
    other.connect(one)
    for _ in range(2):
        other.receive()
        one.send()
    assert one.cq.start_poll(None) == ENOENT
    while one.cq.start_poll(None) == ENOENT:
        pass
    while one.cq.poll_next() == ENOENT:
        pass
    one.cq.end_poll()
    assert one.cq.wr_id == 7


def test_an_endless_poll_loop_warns_and_then_raises(
    ends: tuple[End, End], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "IDLE_POLLS", 1_000)
    with pytest.warns(process.DeviceWarning, match="polled for 1 s"):
        found = [ends[0].cq.poll() for _ in range(1_001)]  # the first takes the time of a call
    assert found == [(0, [])] * 1_001
    with pytest.raises(PyverbsError, match=r"polls in a row found nothing.*nothing is pending"):
        ends[0].cq.poll()
    ends[0].send()  # what it forgot, perhaps
    assert polls_until_one(ends[0].cq) <= 5


def test_a_loop_that_looks_at_the_clock_ends_with_its_own_timeout(
    ends: tuple[End, End], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "IDLE_POLLS", 10)
    end = here().clock_ns() + 2_000 * MS

    def polls() -> int:
        found = 0
        while here().clock_ns() < end:
            assert ends[0].cq.poll() == (0, [])
            found += 1
        return found

    with pytest.warns(process.DeviceWarning, match="no work request will complete on it"):
        count = polls()
    assert 1_000 < count < 10_000
