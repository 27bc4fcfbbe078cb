"""The end of a QP: flush order on both sides, what RESET discards, and life after it."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdmalab.hca import context, qp_lifecycle
from rdmalab.lab import Lab
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.profiles import MLX5, RXE, STRICT, Profile
from rdmalab.spec.records import Kind
from rdmalab.spec.refusals import Syndrome
from rdmalab.spec.states import QPState
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import SendFlags, WROpcode
from rdmalab.wire.headers import AETH
from tests.labs import well
from tests.pairs import Pair

SEND, WRITE, READ = WROpcode.SEND, WROpcode.RDMA_WRITE, WROpcode.RDMA_READ
OK, FLUSHED = WCStatus.SUCCESS, WCStatus.WR_FLUSH_ERR
ERR, RESET, RTS = QPState.ERR, QPState.RESET, QPState.RTS
QUIET = SendFlags(0)


def busy() -> Pair:
    """A has one request done, one on its way, one waiting; B is in the middle of a message."""
    pair = Pair(rd_atomic=1)
    for wr_id in (10, 11):
        pair.a.recv(wr_id=wr_id)
        pair.b.recv(1024, wr_id=wr_id + 10)
    pair.a.issue(WRITE, wr_id=1)
    pair.run()
    pair.a.issue(SEND, 600, wr_id=2, flags=QUIET)
    pair.a.issue(READ, wr_id=3)
    pair.lose("A", 3)
    pair.run(until_ns=pair.world.now_ns + 1_300)
    assert pair.b.qp.resp.recv is not None
    return pair


# --------------------------------------------------------------------------- into ERR
def test_modify_to_err_flushes_everything_oldest_first() -> None:
    """Signaled or not, in progress or not; what completed before stays a success."""
    pair = busy()
    pair.a.modify(qp_state=ERR)
    assert pair.a.sent() == [(1, OK), (2, FLUSHED), (3, FLUSHED)]
    assert pair.a.received() == [(10, FLUSHED), (11, FLUSHED)]
    assert pair.a.events() == []
    pair.b.modify(qp_state=ERR)
    assert pair.b.received() == [(20, FLUSHED), (21, FLUSHED)]  # also the half-filled one


def test_a_receive_that_has_completed_is_not_flushed_and_carries_no_later_error() -> None:
    for opcode in (SEND, WROpcode.RDMA_WRITE_WITH_IMM):
        pair = Pair(dest_rd_atomic=0)
        pair.b.recv(wr_id=20)
        pair.a.post(pair.a.wr(opcode), pair.a.wr(READ))
        pair.run()
        assert pair.b.qp.state is ERR
        assert pair.b.received() == [(20, OK)]
        assert pair.b.events() == [AsyncEvent.QP_REQ_ERR]


def test_a_qp_in_err_sends_and_receives_nothing() -> None:
    pair = busy()
    pair.a.modify(qp_state=ERR)
    sent = len(pair.sent_by("A"))
    pair.run()
    assert len(pair.sent_by("A")) == sent
    assert pair.a.hca.drops.keys() <= {"not-ready"}
    assert pair.timers() == []


def test_what_is_posted_in_err_is_flushed_at_once() -> None:
    """A marker posted now tells that everything before it is over."""
    pair = busy()
    pair.a.modify(qp_state=ERR)
    pair.a.post(pair.a.wr(SEND, wr_id=5, flags=QUIET), pair.a.wr(READ, wr_id=6))
    pair.a.recv(wr_id=7)
    assert pair.a.sent()[-2:] == [(5, FLUSHED), (6, FLUSHED)]
    assert pair.a.received()[-1] == (7, FLUSHED)


def test_err_to_err_changes_nothing() -> None:
    pair = busy()
    pair.a.modify(qp_state=ERR)
    pair.a.sent()
    pair.a.modify(qp_state=ERR)
    assert pair.a.sent() == []
    assert len(pair.records(Kind.STATE_CHANGED, node="A")) == 4


def test_an_rc_error_flushes_both_sides_in_order() -> None:
    pair = Pair(rd_atomic=1)
    for end in (pair.a, pair.b):
        for wr_id in (10, 11):
            end.recv(wr_id=wr_id)
    pair.b.post(pair.b.wr(READ, 4096, wr_id=1, flags=QUIET), pair.b.wr(READ, wr_id=2))
    pair.a.post(pair.a.wr(WRITE, wr_id=3, rkey=5), pair.a.wr(SEND, wr_id=4))
    pair.run()
    assert pair.a.sent() == [(3, WCStatus.REM_ACCESS_ERR), (4, FLUSHED)]
    assert pair.a.received() == [(10, FLUSHED), (11, FLUSHED)]
    assert pair.b.sent() == [(1, FLUSHED), (2, FLUSHED)]
    assert pair.b.received() == [(10, FLUSHED), (11, FLUSHED)]


def test_the_peer_of_a_qp_in_err_ends_with_retry_exc_err() -> None:
    pair = Pair(retry_cnt=1, timeout=5)
    pair.b.modify(qp_state=ERR)
    pair.run()
    assert pair.a.qp.state is RTS
    pair.a.issue(SEND)
    pair.run()
    assert pair.a.sent() == [(1, WCStatus.RETRY_EXC_ERR)]
    assert pair.b.hca.drops == {"not-ready": 2}


def test_a_fatal_nak_is_sent_after_earlier_responses_and_before_the_flush() -> None:
    """READ data that was asked for earlier still goes out; then the NAK; then ERR."""
    pair = Pair()
    pair.b.recv(wr_id=20)
    pair.b.poke(0, b"d" * 600)
    pair.a.post(pair.a.wr(READ, 600, wr_id=1, at=4096), pair.a.wr(WRITE, wr_id=2, rkey=5))
    pair.run()
    assert [line.split()[0] for line in pair.sent_by("B")] == [
        "RDMA_READ_RESPONSE_FIRST",
        "RDMA_READ_RESPONSE_MIDDLE",
        "RDMA_READ_RESPONSE_LAST",
        "NAK_REMOTE_ACCESS",
    ]
    assert pair.a.sent() == [(1, OK), (2, WCStatus.REM_ACCESS_ERR)]
    assert pair.a.peek(4096, 600) == b"d" * 600
    kinds = [record.kind for record in pair.records(*Kind, node="B")]
    assert kinds[-4:] == [Kind.PACKET_SENT, Kind.ASYNC_RAISED, Kind.STATE_CHANGED, Kind.CQE_ADDED]
    assert pair.b.received() == [(20, FLUSHED)]


# --------------------------------------------------------------------------- RESET, and after
def test_reset_discards_requests_without_flush_and_leaves_completions() -> None:
    pair = busy()
    pair.a.modify(qp_state=RESET)
    assert pair.a.sent() == [(1, OK)]
    assert pair.a.received() == []
    discarded = [(record.a, record.b) for record in pair.records(Kind.QUEUE_DISCARDED)]
    assert discarded == [("sq", 2), ("rq", 2)]  # the first send has its completion
    assert pair.timers() == []
    pair.run()
    assert pair.a.events() == []


def test_destroying_a_qp_with_work_outstanding_gives_no_completions() -> None:
    pair = busy()
    qp_lifecycle.destroy_qp(pair.a.hca, pair.a.qp)
    pair.run()
    assert pair.a.sent() == [(1, OK)]
    assert pair.a.received() == []


def again(pair: Pair) -> None:
    """Both ends RESET and up again."""
    for end in (pair.a, pair.b):
        end.modify(qp_state=RESET)
    pair.bring_up(pair.a, 0x900, 0x700)
    pair.bring_up(pair.b, 0x700, 0x900)


def test_err_to_reset_to_rts_makes_a_qp_usable() -> None:
    pair = Pair()
    pair.b.recv(wr_id=20)
    pair.a.issue(WRITE, wr_id=1, rkey=5)
    pair.run()
    assert pair.a.qp.state is pair.b.qp.state is ERR
    again(pair)
    pair.b.recv(wr_id=21)
    pair.a.issue(SEND, wr_id=2)
    pair.b.issue(READ, wr_id=3)
    pair.run()
    assert pair.a.sent() == [(1, WCStatus.REM_ACCESS_ERR), (2, OK)]
    assert pair.b.received() == [(20, FLUSHED), (21, OK)]
    assert pair.b.sent() == [(3, OK)]
    assert pair.sent_by("A")[-2:] == [
        "SEND_ONLY psn=2304 8 bytes",
        "RDMA_READ_RESPONSE_ONLY psn=1792 8 bytes msn=1",
    ]


def test_a_completion_from_before_reset_frees_no_slot() -> None:
    """Serials go on over RESET."""
    pair = Pair()
    pair.b.recv(wr_id=20)
    pair.a.issue(SEND, wr_id=1)
    pair.run()
    again(pair)
    for _ in range(16):
        pair.a.issue(WRITE, flags=QUIET)
        pair.b.recv()
    pair.run()
    assert pair.a.sent() == [(1, OK)]
    assert pair.b.received() == [(20, OK)]
    assert pair.a.qp.sq.posted - pair.a.qp.sq.freed == 16
    assert pair.b.qp.rq.posted - pair.b.qp.rq.freed == 16


@pytest.mark.parametrize("delay_ns", range(0, 4_000, 130))
def test_reset_at_any_moment_leaves_no_timer_and_no_request(delay_ns: int) -> None:
    """Packets, timers and a place in the port's line may still be there; they hurt nobody."""
    pair = busy()
    pair.run(until_ns=pair.world.now_ns + delay_ns)
    again(pair)
    pair.a.sent()
    pair.b.received()
    pair.b.recv(1024, wr_id=5)
    pair.a.post(pair.a.wr(READ, 600, wr_id=1), pair.a.wr(SEND, 600, wr_id=2))
    pair.run()
    assert pair.a.sent() == [(1, OK), (2, OK)]
    assert pair.b.received() == [(5, OK)]


# --------------------------------------------------------------------------- CQ overrun
def overrun(**options: Any) -> Pair:
    """Three signaled WRITEs, and room for two completions."""
    pair = Pair(cqe=2, **options)
    pair.a.recv(wr_id=10)
    pair.b.recv(wr_id=20)
    for wr_id in range(3):
        pair.a.issue(WRITE, wr_id=wr_id)
    pair.run()
    return pair


def test_cq_overrun_moves_every_qp_of_the_cq_to_err() -> None:
    pair = overrun()
    assert pair.a.events() == [AsyncEvent.CQ_ERR, AsyncEvent.QP_FATAL]
    assert pair.a.qp.state is ERR
    assert pair.a.send_cq.dead
    assert pair.a.sent() == [(0, OK), (1, OK)]
    assert pair.a.received() == [(10, FLUSHED)]
    assert pair.b.qp.state is RTS
    assert len(pair.records(Kind.CQ_OVERRUN)) == 1


def test_cq_in_error_takes_no_completion_and_its_qps_enter_err_again() -> None:
    """Recovery is to destroy it: a QP brought up on it falls at its first completion."""
    pair = overrun()
    pair.a.sent()
    pair.a.events()
    again(pair)
    pair.a.issue(WRITE)
    pair.run()
    assert pair.a.sent() == []
    assert pair.a.events() == [AsyncEvent.QP_FATAL]
    assert pair.a.qp.state is ERR


def test_on_soft_roce_a_receive_that_overruns_gets_no_ack_but_those_before_do() -> None:
    """rxe_resp.c: acknowledge sends at once, do_complete with a full CQ goes to RESPST_ERROR."""
    pair = Pair(profile=RXE, cqe=1, retry_cnt=1)
    for wr_id in (1, 2):
        pair.b.recv(wr_id=wr_id)
    pair.b.issue(WRITE, 4096)  # its port is busy, so the first ACK waits
    for wr_id in (1, 2):
        pair.a.issue(SEND, wr_id=wr_id)
    pair.run()
    assert pair.b.received() == [(1, OK)]
    assert pair.a.sent() == [(1, OK)]
    assert (pair.b.qp.state, pair.a.qp.state) == (ERR, ERR)
    failed = [r.a.wr.wr_id for r in pair.records(Kind.WQE_COMPLETED, node="A")
              if r.b is WCStatus.RETRY_EXC_ERR]  # fmt: skip
    assert failed == [2]


def test_cq_overrun_during_a_flush_loses_the_rest() -> None:
    pair = Pair(cqe=2, rd_atomic=0)
    for wr_id in range(4):
        pair.a.issue(READ, wr_id=wr_id)
    pair.a.modify(qp_state=ERR)
    assert pair.a.sent() == [(0, FLUSHED), (1, FLUSHED)]
    assert pair.a.events() == [AsyncEvent.CQ_ERR]
    assert len(pair.records(Kind.STATE_CHANGED, node="A")) == 4


def test_cq_overrun_by_its_own_completion_moves_a_qp_to_err_once() -> None:
    """The failing request's CQE kills the CQ, which kills the QP, which was dying anyway."""
    pair = Pair(cqe=1)
    pair.a.issue(WRITE)
    pair.run()
    pair.a.issue(WRITE, rkey=5)
    pair.run()
    states = [(record.a, record.b) for record in pair.records(Kind.STATE_CHANGED, node="A")]
    assert states[-1] == (RTS, ERR)
    assert len(states) == 4


def test_cq_overrun_moves_the_responder_to_err_once() -> None:
    pair = Pair()
    pair.b.recv()
    pair.b.recv_cq.capacity = 0
    pair.a.issue(SEND)
    pair.run()
    assert len(pair.records(Kind.STATE_CHANGED, node="B")) == 4
    assert pair.sent_by("B") == ["NAK_REMOTE_OPERATION psn=0 msn=0"]
    assert pair.a.sent() == [(1, WCStatus.REM_OP_ERR)]


# --------------------------------------------------------------------------- timers
def _die(pair: Pair) -> None:
    pair.world.begin_event()
    context.fail_device(pair.a.hca)


def _destroy(pair: Pair) -> None:
    pair.world.begin_event()
    qp_lifecycle.destroy_qp(pair.a.hca, pair.a.qp)


def _refused(pair: Pair) -> None:
    """The oldest request gets a NAK that ends the QP."""
    comp = pair.a.qp.comp
    pair.a.takes("ACKNOWLEDGE", comp.psn, aeth=AETH(Syndrome.NAK_REMOTE_ACCESS, 0))


LEAVING: dict[str, Callable[[Pair], None]] = {
    "ERR": lambda pair: pair.a.modify(qp_state=ERR),
    "RESET": lambda pair: pair.a.modify(qp_state=RESET),
    "NAK": _refused,
    "destroy": _destroy,
    "device died": _die,
}


@settings(deadline=None)  # wall time says nothing of virtual time
@given(
    profile=st.sampled_from([STRICT, RXE, MLX5]),
    leaving=st.sampled_from(sorted(LEAVING)),
    waits_for_receive=st.booleans(),
    code=st.integers(0, 31),
    timeout=st.integers(0, 20),
    after_ns=st.integers(0, 3_000_000),
)
def test_no_ack_timer_stays_armed_in_err_or_reset(
    profile: Profile, leaving: str, waits_for_receive: bool, code: int, timeout: int, after_ns: int
) -> None:
    pair = Pair(profile=profile, min_rnr_timer=code, timeout=timeout)
    if not waits_for_receive:
        pair.lose("A", *range(1, 100))
    pair.a.issue(SEND)
    pair.run(until_ns=pair.world.now_ns + 5_000 + after_ns)
    LEAVING[leaving](pair)
    assert pair.a.qp.comp.rnr_until_ns is None
    assert not pair.a.qp.comp.watching
    assert ("A", pair.a.qp.number) not in pair.timers()


def test_a_qp_in_err_shows_no_rnr_timer() -> None:
    lab = Lab()
    for line in ("use rc_pair", "post_send A.qp0 opcode=SEND sg=A.mr0[0:8]", "run 5us"):
        lab.do(line)
    assert lab.look("A.qp0.rnr_timer.armed")
    well(lab, "modify_qp A.qp0 state=ERR")
    lab.do("run 1s")
    assert lab.look("A.qp0.rnr_timer.armed") is False
    assert lab.look("A.qp0.ack_timer.armed") is False
    assert lab.look("A.qp0.rnr_timer.left_ns") is None
