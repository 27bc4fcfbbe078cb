"""What a responder says and in which order: ACKs, READ data, atomic results, NAKs."""

import pytest

from rdmalab.hca import mr
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.profiles import RXE
from rdmalab.spec.records import Kind
from rdmalab.spec.states import QPState
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import WROpcode
from rdmalab.wire.headers import RETH
from tests.pairs import Pair

SEND, WRITE, READ = WROpcode.SEND, WROpcode.RDMA_WRITE, WROpcode.RDMA_READ
ADD = WROpcode.ATOMIC_FETCH_AND_ADD
OK = WCStatus.SUCCESS


def test_ack_is_sent_on_ack_req_and_acknowledges_many() -> None:
    pair = Pair()
    empty = RETH(0, 0, 0)
    for psn, asks in enumerate([True, False, True, True, False]):
        pair.b.takes("RDMA_WRITE_ONLY", psn, reth=empty, ack_req=asks)
    pair.run()
    assert pair.sent_by("B") == ["ACK psn=3 msn=4"]
    pair.b.takes("RDMA_WRITE_ONLY", 5, reth=empty, ack_req=True)
    pair.run()
    assert pair.sent_by("B")[1:] == ["ACK psn=5 msn=6"]


def test_an_ack_does_not_pass_the_data_of_an_earlier_read() -> None:
    pair = Pair()
    pair.b.recv()
    pair.a.post(pair.a.wr(READ, 600), pair.a.wr(SEND), pair.a.wr(ADD), pair.a.wr(WRITE))
    pair.run()
    assert [line.split()[0] for line in pair.sent_by("B")] == [
        "RDMA_READ_RESPONSE_FIRST",
        "RDMA_READ_RESPONSE_MIDDLE",
        "RDMA_READ_RESPONSE_LAST",
        "ACK",
        "ATOMIC_ACKNOWLEDGE",
        "ACK",
    ]


def test_an_ack_is_not_joined_with_the_answer_of_an_atomic() -> None:
    pair = Pair()
    pair.a.post(pair.a.wr(ADD), pair.a.wr(WRITE), pair.a.wr(WRITE))
    pair.run()
    assert pair.sent_by("B") == ["ATOMIC_ACKNOWLEDGE psn=0 msn=1", "ACK psn=2 msn=3"]
    assert pair.a.sent() == [(1, OK)] * 3


@pytest.mark.parametrize("length", [0, 1, 256, 257, 512, 1000])
def test_a_read_is_answered_in_as_many_packets_as_it_needs(length: int) -> None:
    pair = Pair()
    pair.b.poke(7, bytes(range(200)) * 5)
    pair.a.issue(READ, length, at=9_000, to=7)
    pair.run()
    count = max(1, -(-length // 256))
    labels = [line.split()[0].rsplit("_", 1)[1] for line in pair.sent_by("B")]
    whole = ["FIRST", *["MIDDLE"] * (count - 2), "LAST"]
    assert labels == (["ONLY"] if count == 1 else whole)
    assert [packet.aeth is None for packet in pair.packets("B")] == [
        label == "MIDDLE" for label in labels
    ]
    assert pair.a.peek(9_000, 1000) == pair.b.peek(7, length) + bytes(1000 - length)


def test_read_response_data_is_fetched_when_the_packet_leaves() -> None:
    """A READ of a buffer that changes meanwhile sees a mixture."""
    pair = Pair()
    pair.b.poke(0, b"1" * 512)
    pair.a.issue(READ, 512, at=4096)
    pair.run(until_ns=1_210)
    assert len(pair.sent_by("B")) == 1
    pair.b.poke(0, b"2" * 512)
    pair.run()
    assert pair.a.peek(4096, 512) == b"1" * 256 + b"2" * 256


def test_rkey_invalidated_during_a_read_is_a_nak_in_place_of_the_next_response() -> None:
    """The NAK carries the PSN of the packet that cannot be made; what arrived stays."""
    pair = Pair()
    pair.b.poke(0, b"d" * 900)
    pair.b.recv(wr_id=20, at=30_000)
    pair.a.post(pair.a.wr(READ, 900, at=4096), pair.a.wr(SEND, wr_id=2))
    pair.run(until_ns=1_210)
    mr.deregister(pair.b.hca, pair.b.mr)
    pair.run()
    assert pair.sent_by("B") == [
        "RDMA_READ_RESPONSE_FIRST psn=0 256 bytes",
        "NAK_REMOTE_ACCESS psn=1 msn=2",
    ]
    assert pair.a.sent() == [(1, WCStatus.REM_ACCESS_ERR), (2, WCStatus.WR_FLUSH_ERR)]
    assert pair.a.peek(4096, 900) == b"d" * 256 + bytes(644)
    assert pair.b.qp.state is QPState.ERR
    assert pair.b.events() == [AsyncEvent.QP_ACCESS_ERR]


def test_the_nak_carries_the_msn_of_the_messages_executed() -> None:
    pair = Pair()
    for rkey in (pair.b.mr.rkey, pair.b.mr.rkey, 5):
        pair.a.issue(WRITE, rkey=rkey)
    pair.run()
    assert pair.sent_by("B")[-1] == "NAK_REMOTE_ACCESS psn=2 msn=2"


@pytest.mark.parametrize("code", [0, 31, 255])
def test_an_rnr_nak_carries_five_bits_of_the_timer(code: int) -> None:
    """Soft-RoCE stores more than a packet can say."""
    pair = Pair(profile=RXE, min_rnr_timer=code, rnr_retry=0)
    pair.a.issue(SEND)
    pair.run()
    assert pair.sent_by("B") == [f"RNR_NAK({code & 31}) psn=0 msn=0"]
    assert pair.a.sent() == [(1, WCStatus.RNR_RETRY_EXC_ERR)]


def test_responses_of_a_qp_in_err_are_not_sent() -> None:
    pair = Pair()
    pair.a.issue(WRITE)
    pair.run(until_ns=1_110)
    pair.b.modify(qp_state=QPState.ERR)
    pair.run(until_ns=50_000)
    assert pair.sent_by("B") == []
    assert len(pair.records(Kind.PACKET_RECEIVED, node="B")) == 1
