"""What the cable did to a packet: told of the packet it was done to, and of no other."""

from collections.abc import Sequence

from rdmalab.export.pcapng import capture, captured
from rdmalab.lab import Lab
from rdmalab.shell.show_wire import ladder as drawn
from rdmalab.spec.records import A, Kind, Record, kind_of
from rdmalab.views import ladder
from rdmalab.views.fates import Fate
from rdmalab.views.ladder import PacketRow
from rdmalab.views.packets import decoded_row
from rdmalab.views.transit_effects import Origin, effects_of, octets, original, troubles
from rdmalab.wire.frame import octets_of
from tests.labs import ECN_CAPABLE, RECV, SEND, lab_of, well

WRITES = [f"post_send A.qp0 wr_id={n} opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0 flags=SIGNALED"
          for n in range(4)]  # fmt: skip


def records_of(lab: Lab) -> Sequence[Record]:
    return lab.session.world.trace.records


def numbers(lab: Lab, kind: Kind, node: str = "A") -> list[int]:
    return [n for n, r in enumerate(records_of(lab)) if (r[3], r[4]) == (kind, node)]


def rows(lab: Lab) -> list[PacketRow]:
    found = ladder.rows(lab.session.world, lab.session.names, last=None)
    return [row for row in found if isinstance(row, PacketRow)]


def test_what_was_left_alone_has_no_troubles() -> None:
    lab = lab_of(RECV, SEND, "run")
    assert [row.troubles for row in rows(lab)] == [[], []]
    assert octets(records_of(lab), numbers(lab, Kind.PACKET_SENT)[0]) == b""


def test_each_fault_is_listed_at_its_packet() -> None:
    lab = lab_of(
        *ECN_CAPABLE,
        "fault mark A->B nth=1", "fault delay A->B 3us nth=2", "fault reorder A->B nth=3",
        "fault corrupt A->B nth=4 byte=70", *WRITES, "run 2us",
    )  # fmt: skip
    lines = [row.troubles for row in rows(lab) if row.source == "A"][:4]
    assert lines == [["marked"], ["delayed by 3 us"], ["held back"], ["corrupted"]]


def test_a_packet_that_overtakes_is_not_the_one_that_was_released() -> None:
    lab = lab_of("fault reorder A->B nth=1", *WRITES, "run 2us")
    first, second, *_ = numbers(lab, Kind.PACKET_SENT)
    records = records_of(lab)
    assert kind_of(records[second + 1]) is Kind.PACKET_RELEASED
    assert troubles(records, first) == ["held back"]
    assert effects_of(records, second) == []


def test_a_copy_shares_the_harm_and_not_the_delay() -> None:
    lab = lab_of(
        *ECN_CAPABLE, "fault corrupt A->B nth=1 byte=70", "fault mark A->B nth=1",
        "fault delay A->B 1us nth=1", *2 * ("fault duplicate A->B nth=1",), WRITES[0], "run 2us",
    )  # fmt: skip
    records, (sent, *_) = records_of(lab), numbers(lab, Kind.PACKET_SENT)
    copies = numbers(lab, Kind.PACKET_COPIED)
    assert [original(records, copy) for copy in copies] == [sent, sent]
    assert original(records, sent) == sent
    assert troubles(records, sent) == ["corrupted", "marked", "delayed by 1 us"]
    assert [troubles(records, copy) for copy in copies] == [["corrupted", "marked"]] * 2
    packet = records[sent][A]
    assert octets(records, copies[1]) == octets(records, sent) != octets_of(packet)


def test_a_copy_is_a_row_with_its_own_end() -> None:
    lab = lab_of("fault duplicate A->B nth=1 after=5us", WRITES[0], "run 4us")
    sent, copy, *_ = rows(lab)
    assert (sent.origin, copy.origin) == (Origin.SENT, Origin.COPIED)
    assert (sent.fate, copy.fate) == (Fate.RECEIVED, Fate.IN_FLIGHT)
    assert sent.arrives_ns is not None
    assert copy.arrives_ns == sent.arrives_ns + 5_000
    assert "copied RDMA_WRITE_ONLY" in copy.text
    well(lab, "run")
    assert rows(lab)[1].fate is Fate.RECEIVED
    assert lab.look("wire.count(origin=COPIED)") == 1
    assert lab.look("wire.count(from=A)") == 2


def test_the_ladder_draws_what_was_done_in_words_of_ascii() -> None:
    lab = lab_of("fault duplicate A->B nth=1", "fault delay A->B 3us nth=2", *WRITES[:2], "run")
    lines = ["".join(text for _, text in line) for line in drawn([*rows(lab)], 100)]
    assert "─ copied RDMA_WRITE_ONLY psn=0" in lines[1]
    assert "psn=1 8 B delayed by 3 us" in lines[2]
    assert "copied" not in lines[0] + lines[2]


def test_the_mark_is_in_the_bytes_that_are_taken_apart_where_it_arrives() -> None:
    lab = lab_of(*ECN_CAPABLE, "fault mark A->B nth=1", WRITES[0], "run")
    (received,) = numbers(lab, Kind.PACKET_RECEIVED, "B")
    row = decoded_row(lab.session.world, received)
    assert row is not None
    assert "tos=3 (congestion experienced)" in row.layers[1].text


def test_a_capture_has_the_copy_and_the_mark() -> None:
    faults = ("fault duplicate A->B nth=1", "fault mark A->B nth=1")
    lab = lab_of(*ECN_CAPABLE, *faults, *WRITES[:1], "run")
    sent, copy, *answers = captured(records_of(lab))
    assert sent.octets == copy.octets
    assert (sent.octets[15], sent.marked, sent.corrupted) == (3, True, False)
    origins = [frame.origin for frame in (sent, copy, *answers)]
    assert origins == [Origin.SENT, Origin.COPIED, Origin.SENT]
    octets = capture(lab.session.world, lab.session.names).octets
    assert "copied on the cable · marked, arrives".encode() in octets
    assert octets.count(b"A.qp0 wr0 RDMA_WRITE 8 B") >= 2
