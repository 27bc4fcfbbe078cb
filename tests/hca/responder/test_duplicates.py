"""Requests that come again: answered again, done once (transport.md 11)."""

from itertools import repeat

import pytest

from rdmalab.hca import mr
from rdmalab.spec.states import QPState
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import WROpcode
from rdmalab.wire.headers import RETH, AtomicETH
from tests.cables import Wild
from tests.pairs import End, Pair

OK = WCStatus.SUCCESS
SEND, WRITE, READ = WROpcode.SEND, WROpcode.RDMA_WRITE, WROpcode.RDMA_READ
ADD, SWAP = WROpcode.ATOMIC_FETCH_AND_ADD, WROpcode.ATOMIC_CMP_AND_SWP


def done(*opcodes: WROpcode, depth: int = 4) -> Pair:
    """A pair whose B has executed these requests of A's, each of 600 bytes, to the end."""
    pair = Pair(rd_atomic=depth, dest_rd_atomic=depth)
    for wr_id, opcode in enumerate(opcodes):
        pair.b.recv(600, wr_id=wr_id, at=8192 + 1024 * wr_id)
        pair.a.issue(opcode, 8 if opcode in (ADD, SWAP) else 600, compare_add=1)
    pair.run()
    pair.world.trace.tail.clear()
    return pair


def read_again(b: End, psn: int, va: int, length: int, rkey: int | None = None) -> None:
    reth = RETH(b.mr.addr + va, b.mr.rkey if rkey is None else rkey, length)
    b.takes("RDMA_READ_REQUEST", psn, reth=reth)


def add_again(b: End, psn: int, label: str = "FETCH_ADD") -> None:
    b.takes(label, psn, atomiceth=AtomicETH(b.mr.addr, b.mr.rkey, 1, 0))


@pytest.mark.parametrize("label", ["SEND_FIRST", "SEND_LAST", "RDMA_WRITE_MIDDLE"])
@pytest.mark.parametrize("psn", [0, 2, 5])
def test_a_duplicate_send_or_write_is_acknowledged_again_and_not_executed(
    label: str, psn: int
) -> None:
    """With the newest PSN acknowledged and the MSN as it is, whatever is asked."""
    pair = done(SEND, WRITE)
    pair.b.received()
    before = pair.b.peek(0, 1 << 16)
    pair.b.takes(label, psn, b"!" * 256)
    pair.run()
    assert pair.sent_by("B") == ["ACK psn=5 msn=2"]
    assert pair.b.peek(0, 1 << 16) == before
    assert pair.b.received() == []
    assert pair.b.qp.resp.psn == 6


def test_before_anything_was_received_a_duplicate_is_acknowledged_with_the_psn_before() -> None:
    pair = Pair(psn=0x100)
    pair.b.takes("SEND_ONLY", 0xFF)
    pair.run()
    assert pair.sent_by("B") == ["ACK psn=255 msn=0"]


def test_psn_up_to_half_the_circle_before_is_a_duplicate() -> None:
    pair = Pair(psn=0)
    pair.b.takes("SEND_ONLY", 0x800000)
    pair.run()
    pair.b.takes("SEND_ONLY", 0x7FFFFF)
    pair.run()
    assert pair.sent_by("B") == ["ACK psn=16777215 msn=0", "NAK_SEQUENCE psn=0 msn=0"]


def test_a_duplicate_read_returns_memory_as_it_is_now() -> None:
    pair = done(READ)
    pair.b.poke(0, b"now" * 200)
    read_again(pair.b, 0, 0, 600)
    pair.run()
    assert b"".join(packet.payload for packet in pair.packets("B")) == b"now" * 200
    assert pair.sent_by("B") == [
        "RDMA_READ_RESPONSE_FIRST psn=0 256 bytes",
        "RDMA_READ_RESPONSE_MIDDLE psn=1 256 bytes",
        "RDMA_READ_RESPONSE_LAST psn=2 88 bytes msn=1",
    ]


def test_a_duplicate_read_may_ask_for_a_part() -> None:
    pair = done(READ)
    read_again(pair.b, 1, 256, 344)
    read_again(pair.b, 2, 512, 88)
    pair.run()
    assert pair.sent_by("B") == [
        "RDMA_READ_RESPONSE_FIRST psn=1 256 bytes",
        "RDMA_READ_RESPONSE_LAST psn=2 88 bytes msn=1",
        "RDMA_READ_RESPONSE_ONLY psn=2 88 bytes msn=1",
    ]


@pytest.mark.parametrize(
    ("psn", "va", "length"), [(0, 0, 601), (0, -1, 8), (1, 512, 89), (2, 600, 1)]
)
def test_a_duplicate_read_beyond_the_original_is_dropped(psn: int, va: int, length: int) -> None:
    pair = done(READ)
    read_again(pair.b, psn, va, length)
    pair.run()
    assert pair.sent_by("B") == []
    assert pair.b.hca.drops == {"duplicate-gone": 1}


def test_a_duplicate_read_needs_its_rkey() -> None:
    """IBA: a duplicate READ is judged again, since it is executed again."""
    pair = done(READ)
    mr.deregister(pair.b.hca, pair.b.mr)
    read_again(pair.b, 0, 0, 600)
    pair.run()
    assert pair.sent_by("B") == ["NAK_REMOTE_ACCESS psn=0 msn=1"]
    assert pair.b.qp.state is QPState.ERR


def test_a_duplicate_read_of_zero_length_checks_no_rkey() -> None:
    pair = Pair()
    pair.a.issue(READ, 0)
    pair.run()
    read_again(pair.b, 0, 0, 0, rkey=0xBAD)
    pair.run()
    assert pair.sent_by("B")[1:] == ["RDMA_READ_RESPONSE_ONLY psn=0 msn=1"]


def test_a_duplicate_atomic_is_answered_again_and_not_executed_again() -> None:
    pair = done(ADD)
    pair.b.poke(0, (70).to_bytes(8, "little"))
    add_again(pair.b, 0)
    pair.run()
    (packet,) = pair.packets("B")
    assert packet.atomicacketh
    assert packet.atomicacketh.original == 0  # what it was then
    assert pair.sent_by("B") == ["ATOMIC_ACKNOWLEDGE psn=0 msn=1"]
    assert pair.b.peek(0, 8) == (70).to_bytes(8, "little")


def test_as_many_atomic_results_are_kept_as_max_dest_rd_atomic() -> None:
    pair = done(ADD, ADD, READ, depth=2)
    add_again(pair.b, 0)  # the third pushed it out
    pair.run()
    assert pair.b.hca.drops == {"duplicate-gone": 1}
    add_again(pair.b, 1)
    read_again(pair.b, 4, 512, 88)
    pair.run()
    assert len(pair.sent_by("B")) == 2


@pytest.mark.parametrize(
    ("first", "label"), [(SWAP, "FETCH_ADD"), (ADD, "COMPARE_SWAP"), (READ, "FETCH_ADD")]
)
def test_a_duplicate_that_asks_for_something_else_is_dropped(first: WROpcode, label: str) -> None:
    pair = done(first)
    add_again(pair.b, 0, label)
    pair.run()
    assert pair.sent_by("B") == []
    assert pair.b.hca.drops == {"duplicate-gone": 1}


def test_a_duplicate_read_with_the_psn_of_an_atomic_is_dropped() -> None:
    pair = done(ADD)
    read_again(pair.b, 0, 0, 8)
    assert pair.b.hca.drops == {"duplicate-gone": 1}


def test_sq_psn_before_rq_psn_is_a_duplicate_and_ends_in_retry_exceeded() -> None:
    """A wrong sq_psn looks like endless duplicates; no success is believed, no data delivered."""
    pair = Pair(retry_cnt=2, timeout=8)
    pair.b.qp.resp.psn = 0x10
    pair.b.recv()
    pair.a.issue(SEND)
    pair.run()
    assert pair.sent_by("B") == ["ACK psn=15 msn=0"] * 3
    assert pair.a.hca.drops == {"unexpected-ack": 3}
    assert pair.a.sent() == [(1, WCStatus.RETRY_EXC_ERR)]
    assert pair.b.received() == []
    assert pair.b.qp.state is QPState.RTS


def test_sq_psn_ahead_of_rq_psn_gets_one_nak_and_ends_in_retry_exceeded() -> None:
    pair = Pair(retry_cnt=2, timeout=8, psn=0x10)
    pair.b.qp.resp.psn = 0
    pair.b.recv()
    pair.a.issue(SEND)
    pair.run()
    assert pair.sent_by("B") == ["NAK_SEQUENCE psn=0 msn=0"]
    assert pair.a.sent() == [(1, WCStatus.RETRY_EXC_ERR)]
    assert pair.b.qp.state is QPState.RTS


@pytest.mark.parametrize("opcode", [SEND, WRITE, READ, ADD])
def test_every_packet_duplicated_changes_nothing(opcode: WROpcode) -> None:
    pair = Pair(rd_atomic=1, dest_rd_atomic=1)
    pair.world.network.cable = Wild(repeat([0, 0]))
    for wr_id in range(3):
        pair.b.recv(600, wr_id=wr_id, at=8192)
        pair.a.issue(opcode, 8 if opcode is ADD else 600, wr_id=wr_id, compare_add=1)
    pair.run()
    assert pair.a.sent() == [(wr_id, OK) for wr_id in range(3)]
    assert [status for _, status in pair.b.received()] == [OK] * (3 if opcode is SEND else 0)
    assert pair.b.peek(0, 8) == (3 if opcode is ADD else 0).to_bytes(8, "little")
