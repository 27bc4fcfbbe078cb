"""What becomes of answers: completions, retries, waits, and errors with their statuses."""

from typing import Any

import pytest

from rdmalab.hca import mr
from rdmalab.hca.requester import reason_to_wait
from rdmalab.hca.wr import SGE, Cqe
from rdmalab.spec.access import Access
from rdmalab.spec.profiles import RXE
from rdmalab.spec.records import Kind
from rdmalab.spec.refusals import Syndrome
from rdmalab.spec.states import QPState
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.timers import RNR_NS, ack_timeout_ns
from rdmalab.spec.work import SendFlags, WCOpcode, WROpcode
from rdmalab.wire.headers import AETH, AtomicAckETH
from tests.each import each
from tests.pairs import Pair, Seen

SEND, WRITE, READ = WROpcode.SEND, WROpcode.RDMA_WRITE, WROpcode.RDMA_READ
ADD, SWAP = WROpcode.ATOMIC_FETCH_AND_ADD, WROpcode.ATOMIC_CMP_AND_SWP
OK, FLUSHED = WCStatus.SUCCESS, WCStatus.WR_FLUSH_ERR
QUIET = SendFlags(0)
ACK = AETH(0x1F, 1)


def ready(**options: Any) -> Pair:
    """A pair whose B has receives for everything."""
    pair = Pair(**options)
    for wr_id in range(8):
        pair.b.recv(4096, wr_id=wr_id, at=4096 * wr_id)
    return pair


def cut_off(pair: Pair, *opcodes: WROpcode, length: int = 8) -> None:
    """A has sent these requests, none of them has arrived, and no timer has fired yet."""
    pair.lose("A", *range(1, 100))
    for wr_id, opcode in enumerate(opcodes):
        pair.a.issue(opcode, 8 if opcode in (ADD, SWAP) else length, wr_id=wr_id)
    pair.run(until_ns=10_000)


def at(records: list[Seen]) -> list[int]:
    return [record.at_ns for record in records]


def went_back(pair: Pair) -> list[tuple[int, str]]:
    return [(record.a, record.b) for record in pair.records(Kind.WENT_BACK)]


# --------------------------------------------------------------------------- ACKs
def test_one_ack_completes_everything_before_it() -> None:
    pair = Pair()
    cut_off(pair, SEND, WRITE, SEND, length=600)
    pair.a.takes("ACKNOWLEDGE", 5, aeth=ACK)  # the last packet of the second message
    assert pair.a.sent() == [(0, OK), (1, OK)]
    pair.a.takes("ACKNOWLEDGE", 7, aeth=ACK)  # in the middle of the third
    assert pair.a.sent() == []
    assert pair.a.qp.comp.psn == 8
    pair.a.takes("ACKNOWLEDGE", 8, aeth=ACK)
    assert pair.a.sent() == [(2, OK)]
    assert pair.timers() == []


def test_a_lost_ack_is_covered_by_a_later_ack() -> None:
    pair = ready()
    pair.lose("B", 1)
    for _ in range(2):
        pair.a.issue(SEND)
        pair.run(until_ns=pair.world.now_ns + 5_000)
    assert pair.a.sent() == [(1, OK)] * 2
    assert went_back(pair) == []


def test_a_lost_last_ack_costs_a_timeout_and_a_duplicate() -> None:
    pair = ready()
    pair.lose("B", 1)
    pair.a.issue(SEND)
    pair.run()
    assert pair.wire_lines()[2:] == ["A SEND_ONLY psn=0 8 bytes", "B ACK psn=0 msn=1"]
    assert pair.a.sent() == [(1, OK)]
    assert pair.b.received() == [(0, OK)]


@pytest.mark.parametrize("psn", [0xFFFFFF, 6, 0x7FFFFF, 0x800000])
def test_an_unexpected_ack_is_ignored(psn: int) -> None:
    """Answers to what is not outstanding: acknowledged before, or never sent."""
    pair = Pair()
    cut_off(pair, SEND, READ, length=600)
    for syndrome in (0x1F, Syndrome.NAK_SEQUENCE, Syndrome.NAK_REMOTE_ACCESS, 0x21):
        pair.a.takes("ACKNOWLEDGE", psn, aeth=AETH(syndrome, 0))
    pair.a.takes("RDMA_READ_RESPONSE_ONLY", psn, b"x" * 8, aeth=ACK)
    assert pair.a.hca.drops == {"unexpected-ack": 5}
    assert went_back(pair) == []
    assert pair.a.qp.comp.psn == 0


def test_the_ack_timer_restarts_only_with_progress() -> None:
    """An answer out of order does not put the timeout off."""
    pair = Pair(timeout=5)
    timeout_ns = ack_timeout_ns(5)
    assert timeout_ns
    cut_off(pair, READ, length=900)
    (sent_ns,) = at(pair.records(Kind.PACKET_SENT))
    pair.a.takes("RDMA_READ_RESPONSE_FIRST", 0, b"x" * 256, aeth=ACK)  # at 10 us: progress
    pair.a.takes("RDMA_READ_RESPONSE_MIDDLE", 2, b"x" * 256)  # an implied NAK: sent again
    pair.run(until_ns=20_000)
    pair.a.takes("RDMA_READ_RESPONSE_MIDDLE", 2, b"x" * 256)  # ignored
    pair.run(until_ns=10_000 + timeout_ns)
    assert sent_ns == 100
    assert at(pair.records(Kind.TIMER_FIRED)) == [10_000 + timeout_ns]


# --------------------------------------------------------------------------- READ and atomics
def test_read_data_and_the_result_of_an_atomic_are_in_place_when_they_complete() -> None:
    pair = Pair()
    pair.b.poke(0, (41).to_bytes(8, "little") + bytes(range(200)) * 3)
    pair.a.post(
        pair.a.wr(ADD, wr_id=1, compare_add=2),
        pair.a.wr(SWAP, wr_id=2, at=8, compare_add=43, swap=7),
        pair.a.wr(SWAP, wr_id=3, at=16, compare_add=43, swap=99),
        pair.a.wr(READ, 600, wr_id=4, at=100, to=8),
    )
    pair.run()
    words = [int.from_bytes(pair.a.peek(8 * n, 8), "little") for n in range(3)]
    assert words == [41, 43, 7]
    assert pair.b.peek(0, 8) == (7).to_bytes(8, "little")
    assert pair.a.peek(100, 600) == bytes(range(200)) * 3
    cqes = pair.a.poll(pair.a.send_cq)
    assert [(cqe.opcode, cqe.byte_len) for cqe in cqes] == [
        (WCOpcode.FETCH_ADD, 8),
        (WCOpcode.COMP_SWAP, 8),
        (WCOpcode.COMP_SWAP, 8),
        (WCOpcode.RDMA_READ, 600),
    ]


def test_an_atomic_adds_modulo_2_to_the_64() -> None:
    pair = Pair()
    pair.b.poke(0, b"\xff" * 8)
    pair.a.issue(ADD, compare_add=3)
    pair.run()
    assert pair.b.peek(0, 8) == (2).to_bytes(8, "little")
    assert pair.a.peek(0, 8) == b"\xff" * 8


def test_an_ack_beyond_missing_read_data_is_an_implied_nak_once_a_gap() -> None:
    pair = Pair()
    cut_off(pair, READ, SEND, SEND, length=600)
    for psn in (5, 8, 5):
        pair.a.takes("ACKNOWLEDGE", psn, aeth=ACK)
    assert went_back(pair) == [(0, "implied NAK")]
    pair.a.takes("RDMA_READ_RESPONSE_FIRST", 0, b"x" * 256, aeth=ACK)
    pair.a.takes("ACKNOWLEDGE", 5, aeth=ACK)
    assert went_back(pair)[1:] == [(1, "implied NAK")]
    assert pair.a.sent() == []


def test_on_soft_roce_only_an_answer_beyond_a_read_is_an_implied_nak() -> None:
    """rxe_comp.c, check_psn; and none before the retry has brought an answer."""
    pair = Pair(profile=RXE)
    cut_off(pair, READ, SEND, SEND, length=600)
    pair.a.takes("RDMA_READ_RESPONSE_LAST", 2, b"x" * 88, aeth=ACK)
    assert went_back(pair) == []
    pair.a.takes("ACKNOWLEDGE", 5, aeth=ACK)
    assert went_back(pair) == [(0, "implied NAK")]
    pair.a.takes("RDMA_READ_RESPONSE_FIRST", 0, b"x" * 256, aeth=ACK)
    pair.a.takes("ACKNOWLEDGE", 5, aeth=ACK)
    assert went_back(pair)[1:] == [(1, "implied NAK")]


def test_on_soft_roce_a_nak_after_a_retry_waits_for_the_timer() -> None:
    pair = Pair(profile=RXE)
    cut_off(pair, WRITE, SEND, length=600)
    gap = AETH(Syndrome.NAK_SEQUENCE, 0)
    for psn in (1, 1, 2):
        pair.a.takes("ACKNOWLEDGE", psn, aeth=gap)
    assert went_back(pair) == [(1, "NAK sequence error")]
    pair.a.takes("ACKNOWLEDGE", 4, aeth=gap)  # it answers the WRITE
    assert went_back(pair)[1:] == [(4, "NAK sequence error")]


def test_an_atomic_without_its_answer_is_asked_again() -> None:
    pair = ready()
    pair.lose("B", 1)
    pair.a.post(pair.a.wr(ADD, to=40_000, compare_add=5), pair.a.wr(SEND))
    pair.run()
    assert went_back(pair) == [(0, "implied NAK")]
    assert pair.b.peek(40_000, 8) == (5).to_bytes(8, "little")
    assert pair.a.sent() == [(1, OK)] * 2
    assert pair.world.now_ns < 20_000  # no timeout was needed


def test_a_lost_read_response_is_requested_again_when_the_next_one_comes() -> None:
    pair = Pair()
    pair.lose("B", 2)
    pair.a.issue(READ, 900)
    pair.run()
    assert went_back(pair) == [(1, "implied NAK")]
    assert pair.wire_lines()[1:] == [
        "B RDMA_READ_RESPONSE_FIRST psn=0 256 bytes",
        "B RDMA_READ_RESPONSE_MIDDLE psn=1 256 bytes lost",
        "B RDMA_READ_RESPONSE_MIDDLE psn=2 256 bytes",
        "B RDMA_READ_RESPONSE_LAST psn=3 132 bytes msn=1",
        "A RDMA_READ_REQUEST psn=1 of 644",
        "B RDMA_READ_RESPONSE_FIRST psn=1 256 bytes",
        "B RDMA_READ_RESPONSE_MIDDLE psn=2 256 bytes",
        "B RDMA_READ_RESPONSE_LAST psn=3 132 bytes msn=1",
    ]


# --------------------------------------------------------------------------- bad answers
ATOMIC_ACK = {"aeth": ACK, "atomicacketh": AtomicAckETH(1)}


@pytest.mark.parametrize(
    ("opcode", "label", "octets", "headers"),
    [
        (READ, "RDMA_READ_RESPONSE_FIRST", 255, {"aeth": ACK}),
        (READ, "RDMA_READ_RESPONSE_FIRST", 257, {"aeth": ACK}),
        (READ, "RDMA_READ_RESPONSE_ONLY", 256, {"aeth": ACK}),
        (READ, "RDMA_READ_RESPONSE_LAST", 256, {"aeth": ACK}),
        (READ, "RDMA_READ_RESPONSE_MIDDLE", 256, {}),
        (READ, "ATOMIC_ACKNOWLEDGE", 0, ATOMIC_ACK),
        (SEND, "RDMA_READ_RESPONSE_FIRST", 256, {"aeth": ACK}),
        (WRITE, "ATOMIC_ACKNOWLEDGE", 0, ATOMIC_ACK),
        (ADD, "RDMA_READ_RESPONSE_ONLY", 8, {"aeth": ACK}),
    ],
)
def test_a_response_that_does_not_fit_is_bad_resp_err(
    opcode: WROpcode, label: str, octets: int, headers: dict[str, Any]
) -> None:
    pair = Pair()
    cut_off(pair, opcode, SEND, length=600)
    pair.a.takes(label, 0, b"x" * octets, **headers)
    assert pair.a.sent() == [(0, WCStatus.BAD_RESP_ERR), (1, FLUSHED)]
    assert pair.a.qp.state is QPState.ERR
    assert pair.a.peek(0, 8) == bytes(8)


def test_a_last_read_response_of_another_length_is_bad_resp_err() -> None:
    pair = Pair()
    cut_off(pair, READ, length=600)
    for psn, label, octets in ((0, "FIRST", 256), (1, "MIDDLE", 256), (2, "LAST", 87)):
        pair.a.takes(f"RDMA_READ_RESPONSE_{label}", psn, b"x" * octets, aeth=ACK)
    assert pair.a.sent() == [(0, WCStatus.BAD_RESP_ERR)]


def gone(pair: Pair) -> list[SGE]:
    region = mr.register(pair.a.hca, pair.a.pd.number, 64, int(Access.LOCAL_WRITE), None)
    mr.deregister(pair.a.hca, region)
    return [SGE(region.addr, 8, region.lkey)]


def read_only(pair: Pair) -> list[SGE]:
    region = mr.register(pair.a.hca, pair.a.pd.number, 64, int(Access.REMOTE_READ), None)
    return [SGE(region.addr, 8, region.lkey)]


def beyond(pair: Pair) -> list[SGE]:
    return [pair.a.sge(0, 4), pair.a.sge(pair.mr_bytes - 3, 4)]


@pytest.mark.parametrize("sg", [gone, read_only, beyond])
@pytest.mark.parametrize("opcode", [READ, ADD])
def test_a_response_that_cannot_be_scattered_is_loc_prot_err(opcode: WROpcode, sg: Any) -> None:
    """Found when the response arrives; the responder is none the wiser."""
    pair = Pair()
    pair.b.poke(0, b"\x07" * 8)
    wrs = [pair.a.wr(WRITE, wr_id=1, to=99), pair.a.wr(opcode, wr_id=2, sg=sg(pair))]
    pair.a.post(*wrs, pair.a.wr(SEND, wr_id=3))
    pair.run()
    assert pair.a.sent() == [(1, OK), (2, WCStatus.LOC_PROT_ERR), (3, FLUSHED)]
    assert pair.a.peek(0, 8) == bytes(8)  # not even the piece that could be written
    assert pair.b.qp.state is QPState.RTS


# --------------------------------------------------------------------------- NAKs
@pytest.mark.parametrize(
    ("syndrome", "status"),
    [
        (Syndrome.NAK_INVALID_REQUEST, WCStatus.REM_INV_REQ_ERR),
        (Syndrome.NAK_REMOTE_ACCESS, WCStatus.REM_ACCESS_ERR),
        (Syndrome.NAK_REMOTE_OPERATION, WCStatus.REM_OP_ERR),
        (Syndrome.NAK_INVALID_RD_REQUEST, WCStatus.REM_OP_ERR),
        (0x7F, WCStatus.REM_OP_ERR),
    ],
)
def test_a_nak_fails_the_request_that_owns_its_psn(syndrome: int, status: WCStatus) -> None:
    """Everything before it is done, everything behind it is flushed, signaled or not."""
    pair = Pair()
    cut_off(pair, SEND, WRITE, SEND, length=300)
    pair.a.post(pair.a.wr(SEND, wr_id=9, flags=QUIET))
    pair.a.recv(wr_id=7)
    pair.a.takes("ACKNOWLEDGE", 3, aeth=AETH(syndrome, 0))
    assert pair.a.sent() == [(0, OK), (1, status), (2, FLUSHED), (9, FLUSHED)]
    assert pair.a.received() == [(7, FLUSHED)]
    assert pair.a.qp.state is QPState.ERR
    assert pair.a.events() == []
    pair.run()
    assert len(pair.sent_by("A")) == 6  # nothing more


def test_a_failed_unsignaled_request_completes_in_error() -> None:
    pair = Pair()
    pair.a.issue(WRITE, rkey=0xBAD, flags=QUIET)
    pair.run()
    (cqe,) = pair.a.poll(pair.a.send_cq)
    junk = pair.a.hca.profile.junk_on_error
    assert (cqe.status, cqe.opcode, cqe.byte_len) == (WCStatus.REM_ACCESS_ERR, junk, junk)
    assert cqe.vendor_err == 0x80 | WCStatus.REM_ACCESS_ERR


def test_a_sequence_nak_sends_again_at_once_and_costs_a_retry() -> None:
    pair = Pair(retry_cnt=1)
    cut_off(pair, SEND, SEND)
    for _ in range(2):
        pair.a.takes("ACKNOWLEDGE", 0, aeth=AETH(Syndrome.NAK_SEQUENCE, 0))
        assert pair.a.qp.comp.retried == 1
    assert went_back(pair) == [(0, "NAK sequence error")]
    assert pair.a.sent() == [(0, WCStatus.RETRY_EXC_ERR), (1, FLUSHED)]


def test_a_sequence_nak_acknowledges_what_is_before_it_and_refills_the_counters() -> None:
    pair = Pair(retry_cnt=1)
    cut_off(pair, SEND, SEND, SEND)
    for psn in (0, 1, 2):
        pair.a.takes("ACKNOWLEDGE", psn, aeth=AETH(Syndrome.NAK_SEQUENCE, 0))
    assert pair.a.sent() == [(0, OK), (1, OK)]
    assert pair.a.qp.comp.retried == 1
    assert [psn for psn, _ in went_back(pair)] == [0, 1, 2]


# --------------------------------------------------------------------------- timeouts
@pytest.mark.parametrize("retry_cnt", range(8))
def test_retry_cnt_plus_one_timeouts_and_then_the_error(retry_cnt: int) -> None:
    """In all (retry_cnt + 1) * T after the first packet (transport.md 8)."""
    timeout_ns = ack_timeout_ns(10)
    assert timeout_ns
    pair = Pair(retry_cnt=retry_cnt, timeout=10)
    pair.world.network.set_link(up=False)
    pair.a.hca.async_events.clear()
    pair.a.post(pair.a.wr(SEND, wr_id=1), pair.a.wr(SEND, wr_id=2))
    pair.run()
    sent_ns = at(pair.records(Kind.PACKET_SENT))
    timeouts_ns = [sent_ns[0] + n * timeout_ns for n in range(1, retry_cnt + 2)]
    assert at(pair.records(Kind.TIMER_FIRED)) == timeouts_ns
    assert len(sent_ns) == 2 * (retry_cnt + 1)
    assert pair.world.now_ns == timeouts_ns[-1]
    assert pair.a.sent() == [(1, WCStatus.RETRY_EXC_ERR), (2, FLUSHED)]
    assert pair.a.events() == []
    assert pair.b.qp.state is QPState.RTS


@pytest.mark.parametrize("code", [1, 14, 31])
def test_timeout_is_4096_ns_times_2_to_the_code(code: int) -> None:
    pair = Pair(retry_cnt=0, timeout=code)
    pair.world.network.set_link(up=False)
    pair.a.issue(SEND)
    pair.run()
    (sent,) = pair.records(Kind.PACKET_SENT)
    assert pair.world.now_ns - sent.at_ns == 4096 << code


def test_timeout_0_a_lost_last_packet_is_never_retransmitted() -> None:
    pair = ready(timeout=0)
    pair.lose("A", 1)
    pair.a.issue(SEND)
    pair.run()
    assert pair.a.sent() == []
    assert pair.world.agenda.next_ns() is None
    pair.a.issue(SEND)  # what follows shows the gap
    pair.run()
    assert pair.a.sent() == [(1, OK)] * 2


def test_with_timeout_0_an_rnr_wait_still_ends() -> None:
    pair = Pair(timeout=0)
    pair.a.issue(SEND)
    pair.run(until_ns=5_000)
    pair.b.recv()
    pair.run()
    assert pair.a.sent() == [(1, OK)]


def test_progress_resets_retry_cnt() -> None:
    """Each packet of a message may need retry_cnt retries of its own."""
    pair = Pair(retry_cnt=1, timeout=8)
    pair.lose("B", 1, 3, 5)
    for _ in range(3):
        pair.a.issue(WRITE)
        pair.run()
    assert pair.a.sent() == [(1, OK)] * 3
    assert len(pair.records(Kind.TIMER_FIRED)) == 3


# --------------------------------------------------------------------------- RNR
@each("code", range(32))
def test_the_rnr_wait_is_exactly_what_the_responder_asks(code: int) -> None:
    pair = Pair(min_rnr_timer=code)
    pair.a.issue(SEND)
    pair.run(until_ns=5_000)
    pair.b.recv()
    pair.run()
    (armed,) = pair.records(Kind.TIMER_ARMED)
    (fired,) = pair.records(Kind.TIMER_FIRED)
    assert pair.sent_by("B")[0] == f"RNR_NAK({code}) psn=0 msn=0"
    assert fired.at_ns - armed.at_ns == RNR_NS[code]
    assert fired.at_ns == armed.a
    assert pair.a.sent() == [(1, OK)]
    assert pair.b.received() == [(1, OK)]


@pytest.mark.parametrize("rnr_retry", [0, 1, 2, 6])
def test_rnr_retry_counts_rnr_naks(rnr_retry: int) -> None:
    pair = Pair(rnr_retry=rnr_retry, retry_cnt=0)
    pair.a.post(pair.a.wr(SEND, wr_id=1), pair.a.wr(SEND, wr_id=2))
    pair.run()
    assert pair.sent_by("B") == ["RNR_NAK(1) psn=0 msn=0"] * (rnr_retry + 1)
    assert pair.a.sent() == [(1, WCStatus.RNR_RETRY_EXC_ERR), (2, FLUSHED)]
    assert pair.a.qp.state is QPState.ERR
    assert pair.b.qp.state is QPState.RTS
    assert pair.b.events() == []


def test_rnr_retry_7_has_no_limit() -> None:
    pair = Pair(rnr_retry=7, retry_cnt=0)
    pair.a.issue(SEND)
    pair.run(until_ns=5_000_000)
    assert len(pair.sent_by("B")) > 200
    pair.b.recv()
    pair.run()
    assert pair.a.sent() == [(1, OK)]


def test_an_rnr_nak_acknowledges_what_is_before_it_and_refills_the_counter() -> None:
    pair = Pair(rnr_retry=1)
    pair.b.recv()
    pair.a.post(pair.a.wr(SEND, wr_id=1), pair.a.wr(SEND, wr_id=2), pair.a.wr(SEND, wr_id=3))
    pair.run(until_ns=5_000)
    assert pair.a.sent() == [(1, OK)]
    pair.b.recv()
    pair.run()
    assert [line for line in pair.sent_by("B") if "RNR" in line] == [
        "RNR_NAK(1) psn=1 msn=1",
        "RNR_NAK(1) psn=2 msn=2",
        "RNR_NAK(1) psn=2 msn=2",
    ]
    assert pair.a.sent() == [(2, OK), (3, WCStatus.RNR_RETRY_EXC_ERR)]


def test_a_lost_rnr_nak_costs_a_retry_and_no_rnr_retry() -> None:
    pair = Pair(rnr_retry=1, retry_cnt=1)
    pair.lose("B", 1)
    pair.a.issue(SEND)
    pair.run(until_ns=ack_timeout_ns(14))
    pair.run(until_ns=pair.world.now_ns + 5_000)
    pair.b.recv()
    pair.run()
    assert pair.a.sent() == [(1, OK)]
    assert [reason for _, reason in went_back(pair)] == ["timeout", "RNR wait over"]


def test_nothing_leaves_during_the_rnr_wait() -> None:
    """Nor does a second NAK, or an old timer, shorten it."""
    pair = Pair(min_rnr_timer=14, timeout=1)
    pair.a.post(pair.a.wr(SEND), pair.a.wr(SEND))
    pair.run(until_ns=6_000)
    for syndrome in (0x21, Syndrome.NAK_SEQUENCE):
        pair.a.takes("ACKNOWLEDGE", 0, aeth=AETH(syndrome, 0))
    pair.a.issue(SEND)
    assert reason_to_wait(pair.a.qp) == "rnr"
    pair.run(until_ns=1_000_000)
    assert len(pair.sent_by("A")) == 2
    (fired, *_) = pair.records(Kind.TIMER_ARMED)
    pair.run(until_ns=2_000_000)
    assert at(pair.records(Kind.TIMER_FIRED))[0] == fired.a
    assert len(pair.sent_by("A")) > 2


# --------------------------------------------------------------------------- which completions
@pytest.mark.parametrize("sig_all", [False, True])
def test_only_signaled_requests_complete_with_a_cqe(sig_all: bool) -> None:
    pair = ready(sig_all=sig_all)
    for wr_id in range(6):
        flags = SendFlags.SIGNALED if wr_id % 3 == 0 else QUIET
        pair.a.issue((SEND, READ, ADD)[wr_id % 3], wr_id=wr_id, flags=flags)
    pair.run()
    expected = range(6) if sig_all else (0, 3)
    assert pair.a.sent() == [(wr_id, OK) for wr_id in expected]
    done = [record.a.wr.wr_id for record in pair.records(Kind.WQE_COMPLETED, node="A")]
    assert done == list(range(6))


def test_completions_come_in_the_order_of_posting() -> None:
    """Also where a later SEND was acknowledged before an earlier READ was answered."""
    pair = ready()
    pair.lose("B", 1, 2)
    opcodes = [READ, SEND, ADD, WRITE, READ]
    for wr_id, opcode in enumerate(opcodes):
        pair.a.issue(opcode, wr_id=wr_id)
    pair.run()
    assert pair.a.sent() == [(wr_id, OK) for wr_id in range(5)]


def test_a_send_completion_has_no_byte_len() -> None:
    pair = ready()
    pair.a.issue(SEND, 600, imm_data=7)
    pair.run()
    (cqe,) = pair.a.poll(pair.a.send_cq)
    assert cqe == Cqe(1, OK, WCOpcode.SEND, 0, pair.a.qp.number, 0, True, at_ns=pair.world.now_ns)


# --------------------------------------------------------------------------- SQD
def test_sqd_finishes_what_was_begun_and_begins_nothing() -> None:
    pair = ready(rd_atomic=1)
    pair.a.post(pair.a.wr(READ, 600, wr_id=1), pair.a.wr(READ, wr_id=2), pair.a.wr(SEND, wr_id=3))
    pair.run(until_ns=1_000)
    pair.a.modify(qp_state=QPState.SQD, en_sqd_async_notify=1)
    pair.a.issue(SEND, wr_id=4)
    assert pair.a.events() == []
    pair.run()
    assert pair.a.sent() == [(1, OK)]
    assert [event.name for event in pair.a.events()] == ["SQ_DRAINED"]
    assert len(pair.sent_by("A")) == 1
    pair.b.issue(WRITE)  # the receive side goes on
    pair.run()
    assert pair.b.sent() == [(1, OK)]
    pair.a.modify(qp_state=QPState.RTS)
    pair.run()
    assert pair.a.sent() == [(2, OK), (3, OK), (4, OK)]


def test_sqd_goes_on_with_retries() -> None:
    pair = ready()
    pair.lose("A", 2)
    pair.lose("B", 1, 2)
    pair.a.issue(SEND, 600)
    pair.run(until_ns=120)
    pair.a.modify(qp_state=QPState.SQD)
    pair.run()
    assert pair.a.sent() == [(1, OK)]
    assert pair.a.events() == []  # nobody asked


def test_sqd_of_an_idle_queue_is_drained_at_once() -> None:
    pair = ready()
    pair.a.modify(qp_state=QPState.SQD, en_sqd_async_notify=1)
    assert [event.name for event in pair.a.events()] == ["SQ_DRAINED"]
    pair.a.modify(qp_state=QPState.RTS)
    pair.a.modify(qp_state=QPState.SQD)  # the wish was for once
    assert pair.a.events() == []


def test_sqd_is_not_drained_during_an_rnr_wait() -> None:
    pair = Pair()
    pair.a.issue(SEND)
    pair.run(until_ns=5_000)
    pair.a.modify(qp_state=QPState.SQD, en_sqd_async_notify=1)
    pair.run(until_ns=50_000)
    assert pair.a.events() == []
    pair.b.recv()
    pair.run()
    assert pair.a.sent() == [(1, OK)]
    assert [event.name for event in pair.a.events()] == ["SQ_DRAINED"]


def test_leaving_sqd_by_an_error_raises_sq_drained() -> None:
    pair = Pair(rnr_retry=0)
    pair.a.issue(SEND)
    pair.run(until_ns=1_200)
    pair.a.modify(qp_state=QPState.SQD, en_sqd_async_notify=1)
    pair.run()
    assert pair.a.sent() == [(1, WCStatus.RNR_RETRY_EXC_ERR)]
    assert [event.name for event in pair.a.events()] == ["SQ_DRAINED"]
