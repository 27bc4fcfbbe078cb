"""UC: what is lost is lost; what follows is heard; nobody is ever answered (transport.md 12)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdmalab.spec.records import Kind
from rdmalab.spec.states import QPState, QPType
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import SendFlags, WROpcode
from tests.each import examples
from tests.pairs import End, Pair, image

S = WCStatus
SEND, WRITE, WRITE_IMM = WROpcode.SEND, WROpcode.RDMA_WRITE, WROpcode.RDMA_WRITE_WITH_IMM
LONG = 700  # three packets of 256


def uc(**fields: object) -> Pair:
    return Pair(qp_type=QPType.UC, **fields)  # type: ignore[arg-type]


def test_uc_message_in_three_packets_arrives_without_ack() -> None:
    pair = uc()
    pair.a.poke(0, bytes(range(256)) * 3)
    pair.b.recv(1024, wr_id=5, at=2048)
    pair.a.issue(SEND, LONG, wr_id=7)
    pair.run()
    assert pair.wire_lines() == [
        "A SEND_FIRST psn=0 256 bytes", "A SEND_MIDDLE psn=1 256 bytes",
        "A SEND_LAST psn=2 188 bytes",
    ]  # fmt: skip
    assert pair.a.sent() == [(7, S.SUCCESS)]
    (cqe,) = pair.b.poll(pair.b.recv_cq)
    assert (cqe.wr_id, cqe.status, cqe.byte_len) == (5, S.SUCCESS, LONG)
    assert pair.b.peek(2048, LONG) == (bytes(range(256)) * 3)[:LONG]
    assert not any(packet.ack_req for packet in pair.packets("A"))


def test_uc_send_completes_when_its_last_packet_has_left() -> None:
    pair = uc()
    pair.a.issue(SEND, LONG, wr_id=7)
    pair.world.run(2)
    assert pair.a.sent() == []
    pair.world.run(1)
    left = pair.records(Kind.PACKET_SENT)[-1].event
    assert [r.event for r in pair.records(Kind.WQE_COMPLETED)] == [left]


@pytest.mark.parametrize("lost", [1, 2, 3])
def test_uc_psn_gap_drops_the_message_and_not_the_next(lost: int) -> None:
    """The receive of the broken message takes the next one; its sender never knows."""
    pair = uc()
    for wr_id in (1, 2):
        pair.b.recv(1024, wr_id=wr_id)
    pair.lose("A", lost)
    pair.a.issue(SEND, LONG, wr_id=7)
    pair.a.issue(SEND, 9, wr_id=8)
    pair.run()
    assert pair.a.sent() == [(7, S.SUCCESS), (8, S.SUCCESS)]
    (cqe,) = pair.b.poll(pair.b.recv_cq)
    assert (cqe.wr_id, cqe.byte_len) == (1, 9)
    assert len(pair.b.qp.rq.wqes) == 1
    assert pair.b.qp.state is QPState.RTS
    assert pair.b.hca.drops == {1: {"rest-of-message": 2}, 2: {"rest-of-message": 1}, 3: {}}[lost]


def test_uc_bytes_of_a_write_that_lost_a_packet_stay() -> None:
    pair = uc()
    pair.a.poke(0, b"\x11" * LONG)
    pair.lose("A", 2)
    pair.a.issue(WRITE, LONG)
    pair.run()
    assert pair.b.peek(0, LONG) == b"\x11" * 256 + bytes(LONG - 256)
    assert pair.a.sent() == [(1, S.SUCCESS)]


@pytest.mark.parametrize(
    ("reason", "spoil"),
    [
        ("no-receive", {}),
        ("rkey", {"opcode": WRITE, "rkey": 0xBAD}),
        ("not-enabled", {"opcode": WRITE}),
    ],
)
def test_uc_drops_what_rc_answers_with_nak(reason: str, spoil: dict[str, object]) -> None:
    """A QP that answers nothing lives on, and so does its peer."""
    pair = uc(access=0) if reason == "not-enabled" else uc()
    pair.a.issue(spoil.pop("opcode", SEND), 8, **spoil)  # type: ignore[arg-type]
    pair.run()
    assert pair.a.sent() == [(1, S.SUCCESS)]
    assert pair.b.hca.drops == {reason: 1}
    assert pair.b.peek(0, 8) == bytes(8)
    assert (pair.b.qp.state, pair.b.events()) == (QPState.RTS, [])
    assert pair.sent_by("B") == []


@pytest.mark.parametrize(
    ("length", "lkey", "status"), [(4, None, S.LOC_LEN_ERR), (64, 0xBAD, S.LOC_PROT_ERR)]
)
def test_uc_receive_too_short_or_with_an_invalid_lkey_enters_err(
    length: int, lkey: int | None, status: WCStatus
) -> None:
    pair = uc()
    pair.b.recv(sg=[pair.b.sge(0, length, lkey)], wr_id=5)
    pair.b.recv(64, wr_id=6)
    pair.a.issue(SEND, 8)
    pair.run()
    assert pair.a.sent() == [(1, S.SUCCESS)]
    assert pair.b.received() == [(5, status), (6, S.WR_FLUSH_ERR)]
    assert (pair.b.qp.state, pair.a.qp.state) == (QPState.ERR, QPState.RTS)


def test_uc_write_with_immediate_takes_a_receive_at_its_last_packet() -> None:
    pair = uc()
    pair.b.recv(0, wr_id=5)
    pair.a.issue(WRITE_IMM, LONG, imm_data=0x01020304)
    pair.run()
    (cqe,) = pair.b.poll(pair.b.recv_cq)
    assert (cqe.wr_id, cqe.byte_len, cqe.imm_data) == (5, LONG, 0x01020304)


def test_uc_send_error_enters_sqe_and_receiving_goes_on() -> None:
    """SQE: earlier ones are done, later ones flushed, and modify_qp leads back (10.3.1.6)."""
    pair = uc()
    for _ in range(2):
        pair.a.recv(64)
        pair.b.recv(64)
    pair.a.post(
        pair.a.wr(SEND, wr_id=1),
        pair.a.wr(SEND, wr_id=2, sg=[pair.a.sge(0, 8, 0xBAD)]),
        pair.a.wr(SEND, wr_id=3, flags=SendFlags(0)),
    )
    pair.run()
    assert pair.a.sent() == [(1, S.SUCCESS), (2, S.LOC_PROT_ERR), (3, S.WR_FLUSH_ERR)]
    assert pair.a.qp.state is QPState.SQE
    pair.a.issue(SEND, wr_id=4)
    assert pair.a.sent() == [(4, S.WR_FLUSH_ERR)]
    pair.b.issue(SEND, wr_id=9)
    pair.run()
    assert pair.a.received() == [(1, S.SUCCESS)]
    pair.a.modify(qp_state=QPState.RTS)
    pair.a.issue(SEND, wr_id=5)
    pair.run()
    assert pair.a.sent() == [(5, S.SUCCESS)]
    assert [status for _, status in pair.b.received()] == [S.SUCCESS, S.SUCCESS]


@settings(max_examples=examples(60))
@given(
    st.lists(st.integers(1, 900), min_size=1, max_size=6),
    st.sets(st.integers(1, 20), max_size=8),
    st.integers(0, 0xFFFFFF),
)
def test_uc_messages_without_lost_packets_arrive_whole(
    lengths: list[int], lost: set[int], psn: int
) -> None:
    """Each message arrives entirely or not at all, in order; its sender is always content."""
    pair = uc(psn=psn)
    for wr_id in range(len(lengths)):
        pair.b.recv(1024, wr_id=wr_id, at=1024 * wr_id)
    pair.lose("A", *lost)
    for wr_id, length in enumerate(lengths):
        pair.a.poke(1024 * wr_id, bytes([wr_id + 1]) * length)
        pair.a.issue(SEND, length, wr_id=wr_id, at=1024 * wr_id)
    pair.run()
    assert pair.a.sent() == [(wr_id, S.SUCCESS) for wr_id in range(len(lengths))]
    packets, whole = 0, []
    for wr_id, length in enumerate(lengths):
        mine = range(packets + 1, packets + 1 + -(-length // 256))
        packets = mine.stop - 1
        if not lost & set(mine):
            whole.append(wr_id)
    arrived = pair.b.poll(pair.b.recv_cq)
    assert [cqe.byte_len for cqe in arrived] == [lengths[wr_id] for wr_id in whole]
    for at, wr_id in enumerate(whole):
        assert pair.b.peek(1024 * at, lengths[wr_id]) == bytes([wr_id + 1]) * lengths[wr_id]


def test_uc_drops_every_response_opcode() -> None:
    pair = uc()
    before = image(pair.b.qp)
    pair.b.takes("ACKNOWLEDGE", 0)
    pair.b.takes("RDMA_READ_REQUEST", 0)
    assert image(pair.b.qp) == before
    assert pair.b.hca.drops == {"wrong-type": 2}


def test_uc_middle_packet_without_a_first_is_dropped() -> None:
    pair = uc()
    pair.b.recv(1024)
    middle: End = pair.b
    middle.takes("SEND_MIDDLE", 0, bytes(256), opcode=0x21)
    assert pair.b.hca.drops == {"rest-of-message": 1}
