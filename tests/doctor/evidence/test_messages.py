"""From a packet to its work request, and which bytes a list names."""

from hypothesis import given
from hypothesis import strategies as st

from rdmalab.command import Noun, Thing
from rdmalab.doctor.evidence import messages
from rdmalab.doctor.evidence.log import Log
from rdmalab.doctor.evidence.messages import Piece, meet, part
from rdmalab.hca.wr import SGE
from rdmalab.lab import Lab
from rdmalab.spec.records import A, Kind, event_of, object_of
from tests.doctor.asking import pair
from tests.labs import BUSY, lab_of

LISTS = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 20)), max_size=4)


def octets(pieces: list[Piece]) -> list[int]:
    return [start + n for start, length in pieces for n in range(length)]


def arrivals(lab: Lab) -> list[tuple[str, int, int]]:
    """Node, serial and offset of the send of every packet that was received."""
    log, found = Log(lab.session), []
    for record in log.of(Kind.PACKET_RECEIVED):
        message = messages.arrived_with(log, record)
        assert message is not None
        found.append((message.thing.node, message.wqe.serial, message.offset))
    return found


def test_every_packet_of_a_busy_pair_that_loses_some_is_traced_to_its_send() -> None:
    lab = lab_of(*BUSY, "run")
    log = Log(lab.session)
    for record in log.of(Kind.PACKET_RECEIVED):
        message = messages.arrived_with(log, record)
        assert message is not None
        span = range(message.wqe.first_psn, message.wqe.last_psn + 1)
        assert message.packet.psn in span
        assert message.posted <= message.sent < event_of(record)
    assert {each[:2] for each in arrivals(lab)} == {("A", 0), ("A", 1), ("B", 0)}


def test_messages_of_two_pairs() -> None:
    writes = [
        f"post_send A.qp{n} wr_id={n} opcode=RDMA_WRITE sg=A.mr{n}[0:8] remote=B.mr{n}[0]"
        for n in (0, 1)
    ]
    lab = pair("use rc_pair", "link latency=5us", *writes)
    log = Log(lab.session)
    for record in log.of(Kind.PACKET_RECEIVED, "B"):
        message = messages.arrived_with(log, record)
        assert message is not None
        assert lab.session.names.of(message.thing) == f"A.qp{message.wqe.wr.wr_id}"
        assert message.packet == record[A]
        assert any(r[A] is message.packet for r in log.within(message.sent))


def test_the_offset_is_that_of_the_packet_in_its_message() -> None:
    lab = pair("post_recv B.qp0 sg=B.mr0[0:1000]", "post_send A.qp0 opcode=SEND sg=A.mr0[0:1000]",
               use="use rc_pair path_mtu=256")  # fmt: skip
    sent = [offset for node, _, offset in arrivals(lab)[:4] if node == "A"]
    assert sent == [0, 256, 512, 768]


def test_message_of_a_taken_receive() -> None:
    lab = lab_of("post_recv B.qp0 wr_id=1 sg=B.mr0[0:8]", "post_recv B.qp0 wr_id=2 sg=B.mr0[0:8]",
                 "post_send A.qp0 wr_id=9 opcode=SEND sg=A.mr0[0:8]", "run")  # fmt: skip
    log = Log(lab.session)
    taken, waits = [record[A] for record in log.of(Kind.RECV_POSTED)]
    number = object_of(log.of(Kind.RECV_POSTED)[0])
    message = messages.taking(log, "B", number, taken)
    assert message is not None
    assert message.subject.wr_id == 9
    assert messages.taking(log, "B", number, waits) is None


def test_the_newest_post_with_a_psn_is_meant() -> None:
    write = "post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0[0] wr_id="
    anew = ("reset A.qp0", "reset B.qp0", "connect A.qp0 B.qp0")
    lab = pair(f"{write}1", "run", *anew, f"{write}2")
    log, number = Log(lab.session), next(iter(lab.session.world.nodes["A"].qps.items))
    found = messages.posting_of(log, Thing(Noun.QP, "A", number), 0, lab.session.world.event)
    assert found is not None
    assert found[A].wr.wr_id == 2
    first = messages.posting_of(log, Thing(Noun.QP, "A", number), 0, event_of(found) - 1)
    assert first is not None
    assert first[A].wr.wr_id == 1
    assert messages.post_of(log, Thing(Noun.QP, "A", number), found[A].serial) == event_of(found)
    assert messages.post_of(log, Thing(Noun.QP, "A", number), 77) is None


def test_pieces_count_from_where_the_region_lies() -> None:
    lab = lab_of("reg_mr A.mr1 pd=A.pd0 length=64 access=LOCAL_WRITE|ZERO_BASED")
    hca = lab.session.world.nodes["A"]
    mr = list(hca.mrs.items.values())[-1]
    assert messages.pieces(hca, [SGE(8, 4, mr.lkey), SGE(8, 4, 0xBAD)]) == [
        (mr.addr + 8, 4),
        (8, 4),
    ]


@given(LISTS, st.integers(0, 90), st.integers(1, 40))
def test_a_part_is_a_slice_of_the_bytes_in_their_order(
    pieces: list[Piece], offset: int, length: int
) -> None:
    assert octets(part(pieces, offset, length)) == octets(pieces)[offset : offset + length]


@given(LISTS, LISTS)
def test_pieces_meet_in_the_bytes_that_both_have(one: list[Piece], other: list[Piece]) -> None:
    assert set(octets(meet(one, other))) == set(octets(one)) & set(octets(other))
