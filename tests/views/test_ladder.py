"""The ladder: each packet with its fate, and the markers between them."""

from rdmalab.lab import Lab
from rdmalab.spec.records import Kind
from rdmalab.spec.refusals import Syndrome
from rdmalab.spec.work import WROpcode
from rdmalab.views import ladder
from rdmalab.views.fates import Fate
from rdmalab.views.ladder import MarkerRow, PacketRow
from rdmalab.world.faults import Corrupt, Match
from tests.pairs import Pair
from tests.raw import BROADCAST, raw_pair, tcp_frame
from tests.views.looking import names_of


def rows_of(pair: Pair, last: int | None = None) -> list[PacketRow | MarkerRow]:
    return ladder.rows(pair.world, names_of(pair), last=last)


def packets_of(pair: Pair) -> list[PacketRow]:
    return [row for row in rows_of(pair) if isinstance(row, PacketRow)]


def test_a_write_and_its_ack() -> None:
    pair = Pair(psn=5)
    pair.a.issue(WROpcode.RDMA_WRITE, 64, to=8)
    pair.run()
    write, ack = packets_of(pair)
    assert (write.source, write.target, write.qp, write.dest_qp) == ("A", "B", "A.qp0", "B.qp0")
    assert (write.opcode, write.psn, write.length) == ("RDMA_WRITE_ONLY", 5, 64)
    assert write.ack_req
    assert (write.va, write.rkey, write.dma_length) == (pair.b.mr.addr + 8, pair.b.mr.rkey, 64)
    assert (write.syndrome, write.msn) == (None, None)
    assert (ack.label, ack.syndrome, ack.msn, ack.va) == ("ACK", Syndrome.ACK, 1, None)
    assert write.fate is ack.fate is Fate.RECEIVED
    assert write.text.endswith("A->B RDMA_WRITE_ONLY psn=5 64 B ack_req")


def test_a_packet_is_in_flight_until_its_arrival_time() -> None:
    pair = Pair()
    pair.a.issue(WROpcode.RDMA_WRITE, 64)
    pair.world.run(1)
    (flying,) = packets_of(pair)
    assert flying.fate is Fate.IN_FLIGHT
    pair.run()
    assert packets_of(pair)[0].arrives_ns == flying.arrives_ns
    assert flying.fate_text == f"in flight, {packets_of(pair)[0].fate_text}"


def test_lost_dropped_and_refused_packets_say_why() -> None:
    pair = Pair(timeout=1, min_rnr_timer=1)
    pair.lose("A", 1)
    pair.world.network.cable.faults.append(Corrupt(9, Match(source="A", nth=2), 50))
    pair.a.issue(WROpcode.SEND, 8)
    pair.run(100_000)
    fates = [(row.fate, row.reason) for row in packets_of(pair) if row.source == "A"][:3]
    assert fates[0][0] is Fate.LOST
    assert fates[0][1].startswith("fault 1: drop")
    assert fates[1] == (Fate.DROPPED, "malformed: icrc")
    assert fates[2] == (Fate.REFUSED, "no-receive")
    assert packets_of(pair)[2].fate_text == "refused: no receive WQE is posted"


def test_a_gap_is_refused_once_and_then_dropped() -> None:
    pair = Pair()
    pair.lose("A", 1)
    for _ in range(3):
        pair.a.issue(WROpcode.RDMA_WRITE, 8)
    pair.run()
    fates = [row.fate for row in packets_of(pair) if row.source == "A"][:3]
    assert fates == [Fate.LOST, Fate.REFUSED, Fate.DROPPED]


def test_timers_and_going_back_stand_between_the_packets() -> None:
    pair = Pair(min_rnr_timer=12)
    pair.a.issue(WROpcode.SEND, 8)
    pair.run(700_000)
    kinds = [row.kind if isinstance(row, MarkerRow) else row.label for row in rows_of(pair)]
    assert kinds[:6] == [
        "SEND_ONLY", "RNR_NAK", Kind.TIMER_ARMED, Kind.TIMER_FIRED, Kind.WENT_BACK, "SEND_ONLY",
    ]  # fmt: skip
    armed, fired = (row for row in rows_of(pair)[2:4] if isinstance(row, MarkerRow))
    assert armed.fires_ns == fired.at_ns
    assert "A.qp0 armed its RNR timer, due at" in armed.text
    nak = packets_of(pair)[1]
    assert (nak.syndrome, nak.timer) == (Syndrome.RNR_NAK, 12)


def test_the_window_is_the_end_of_the_whole() -> None:
    pair = Pair(min_rnr_timer=1)
    pair.b.recv(5000)
    pair.a.issue(WROpcode.SEND, 5000)
    pair.a.issue(WROpcode.SEND, 8)
    pair.run(200_000)
    whole = rows_of(pair)
    for last in (0, 1, 7, len(whole), len(whole) + 1):
        assert rows_of(pair, last) == whole[max(0, len(whole) - last) :]
    since = whole[4].number
    names = names_of(pair)
    assert ladder.rows(pair.world, names, last=None, since=since) == whole[4:]


def test_the_last_packet() -> None:
    pair = Pair()
    assert ladder.last_packet(pair.world, names_of(pair)) is None
    pair.a.issue(WROpcode.RDMA_READ, 8)
    pair.run()
    row = ladder.last_packet(pair.world, names_of(pair))
    assert row is not None
    assert row.opcode == "RDMA_READ_RESPONSE_ONLY"


def test_a_frame_stands_in_the_ladder_with_what_it_is() -> None:
    pair = raw_pair()
    frame = tcp_frame(b"hello", dst=BROADCAST)
    pair.a.poke(0, frame)
    pair.a.issue(WROpcode.SEND, len(frame))
    pair.run()
    (row,) = packets_of(pair)
    assert (row.source, row.target, row.opcode, row.psn) == ("A", "B", "FRAME", None)
    assert (row.length, row.ethertype, row.dest_qp) == (len(frame), 0x800, "")
    assert row.text == "0.100 us A->B TCP 10.0.0.1:1234 > 10.0.0.2:80 S seq=0 len=5"
    assert (row.fate, row.reason) == (Fate.DROPPED, "no-flow")


def test_what_one_of_several_has_taken_is_received() -> None:
    """Two queue pairs want the frame, and one of them has no receive for it."""
    lab = Lab()
    for line in (
        "use raw_pair",
        "use raw_pair",
        r'write A.mr0[0:14] "\x02\x00\x0a\x00\x00\x02\x02\x00\x0a\x00\x00\x01\x88\xb5"',
        "post_recv B.qp1 sg=B.mr1",
        "post_send A.qp0 opcode=SEND sg=A.mr0[0:60]",
        "run",
    ):
        assert not any(reply.failed for reply in lab.do(line))
    world, names = lab.session.world, lab.session.names
    packet = ladder.last_packet(world, names)
    assert packet is not None
    assert packet.fate is Fate.RECEIVED
    lab.do("post_send A.qp0 opcode=SEND sg=A.mr0[0:60]")
    lab.do("run")
    packet = ladder.last_packet(world, names)
    assert packet is not None
    assert (packet.fate, packet.reason) == (Fate.DROPPED, "no-receive")
