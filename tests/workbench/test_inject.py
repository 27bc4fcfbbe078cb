"""Injection: any bytes may arrive at a port; what it cannot read it counts and drops."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdmalab.export.pcapng import capture, captured
from rdmalab.grammar.format import render
from rdmalab.grammar.line import parse
from rdmalab.lab import Lab
from rdmalab.shell.show_wire import ladder as drawn
from rdmalab.spec.opcodes import OPCODES
from rdmalab.spec.records import Kind
from rdmalab.views import ladder, story
from rdmalab.views.ladder import PacketRow
from rdmalab.views.packets import decoded_row, last_event
from rdmalab.views.transit_effects import Origin
from rdmalab.vocabulary import VOCABULARY
from rdmalab.wire.packet import EXTENDED, Flow, Packet, ipv4_gid, mac_of
from rdmalab.wire.roce import encode
from tests.each import examples
from tests.labs import RECV, SEND, everything, lab_of, misread, packets, played_again, seen, well

A, B = ipv4_gid("10.0.0.1"), ipv4_gid("10.0.0.2")
FLOW = Flow(A, B, 0xC001, src_mac=mac_of(A), dst_mac=mac_of(B))


def event_of(lab: Lab, kind: Kind, node: str) -> int:
    records = lab.session.world.trace.records
    return next(r[0] for r in reversed(records) if (r[3], r[4]) == (kind, node))


def looked_at(lab: Lab) -> None:
    """Every way of looking at what was injected."""
    world, names = lab.session.world, lab.session.names
    rows = ladder.rows(world, names, last=None)
    drawn([*rows], 80)
    for row in rows:
        decoded_row(world, row.number)
    for event in range(max(0, world.event - 9), world.event + 1):
        story.event_row(world, names, event)
    capture(world, names)
    well(lab, "show counters")


# --------------------------------------------------------------------------- what may arrive
@pytest.mark.parametrize(
    "text", ["00", "ff02 0a", "00" * 14, "ffffffffffff" + "00" * 40, "02000a000002" + "11" * 60]
)
def test_bytes_that_are_nothing_are_counted_and_dropped(text: str) -> None:
    lab = lab_of(f'inject A->B "{text}"', "run")
    assert lab.look("B.port.drops") == 1
    assert [packet for _, packet, _ in seen(lab, Kind.PACKET_RECEIVED)] == []
    looked_at(lab)


def test_a_packet_that_was_is_a_duplicate() -> None:
    lab = lab_of(RECV, SEND, "run")
    well(lab, f"inject A->B packet=ev{event_of(lab, Kind.PACKET_SENT, 'A')}; run")
    assert lab.look("B.counters.duplicate_request == 1")
    assert lab.look("B.cq0.count == 1")
    assert lab.look("A.counters.sent_pkts == 1")
    looked_at(lab)


def test_a_packet_with_another_psn_has_a_right_icrc_and_shows_a_gap() -> None:
    lab = lab_of(RECV, SEND, "run")
    well(lab, f"inject A->B packet={event_of(lab, Kind.PACKET_SENT, 'A')} psn=7; run")
    assert lab.look("B.counters.out_of_seq_request == 1")


@pytest.mark.parametrize(
    ("change", "reason"),
    [("byte=60", "malformed: icrc"), ("dest_qp=0x77", "wrong-qpn"), ("pkey=3", "pkey")],
)
def test_a_changed_packet_is_dropped_for_what_was_changed(change: str, reason: str) -> None:
    lab = lab_of(RECV, SEND, "run")
    well(lab, f"inject A->B packet=ev{event_of(lab, Kind.PACKET_SENT, 'A')} {change}; run")
    assert [why for _, _, why in seen(lab, Kind.PACKET_DROPPED, "B")] == [reason]


def test_an_injected_ack_completes_a_lost_send() -> None:
    """A reliable connection believes whoever has the right addresses and numbers."""
    lab = lab_of(RECV, SEND, "run", "fault drop A->B")
    ack = event_of(lab, Kind.PACKET_SENT, "B")
    well(lab, "post_send A.qp0 wr_id=9 opcode=SEND sg=A.mr0[0:8] flags=SIGNALED; run 5us")
    well(lab, f"inject B->A packet=ev{ack} psn=1; run 5us")
    assert lab.look("A.cq0.last.status == SUCCESS")
    assert lab.look("B.cq0.count == 1")


def test_what_is_injected_into_a_cable_that_is_down_is_lost() -> None:
    lab = lab_of("link down", 'inject A->B "00"', "run")
    assert [why for _, _, why in seen(lab, Kind.PACKET_LOST)] == ["the link is down"]
    looked_at(lab)


def test_faults_leave_it_alone() -> None:
    lab = lab_of(RECV, SEND, "run", "fault drop A->B")
    well(lab, f"inject A->B packet=ev{event_of(lab, Kind.PACKET_SENT, 'A')}; run 3us")
    assert lab.look("B.counters.duplicate_request == 1")


def test_ladder_and_capture_mark_an_injected_packet() -> None:
    lab = lab_of(RECV, SEND, "run")
    well(lab, f"inject A->B packet=ev{event_of(lab, Kind.PACKET_SENT, 'A')}; run")
    world, names = lab.session.world, lab.session.names
    row = next(r for r in ladder.rows(world, names) if "injected" in r.text)
    assert isinstance(row, PacketRow)
    assert (row.source, row.target, row.origin, row.qp) == ("A", "B", Origin.INJECTED, "")
    frames = list(captured(world.trace.records))
    assert [frame.origin for frame in frames].count(Origin.INJECTED) == 1
    octets = capture(world, names).octets
    assert "A has not sent SEND_ONLY psn=0 64 B · injected on the cable".encode() in octets
    lines = ["".join(text for _, text in line) for line in drawn([row], 100)]
    assert "─ injected SEND_ONLY psn=0" in lines[0]
    assert lab.look("wire.count(origin=INJECTED)") == 1


# --------------------------------------------------------------------------- the words
def test_what_is_kept_is_the_bytes() -> None:
    """The journal does not depend on what event 12 was."""
    lab = lab_of(RECV, SEND, "run")
    event = event_of(lab, Kind.PACKET_SENT, "A")
    before = len(lab.session.journal)
    well(lab, f"inject A->B packet=ev{event} psn=3; run")
    (entry,) = lab.session.journal[before:]
    assert set(entry.invocation.arguments) == {"direction", "octets"}
    text = render(entry.invocation, VOCABULARY["inject"])
    assert parse(text, VOCABULARY, None, file=True) == [entry.invocation]
    assert everything(played_again(lab)) == everything(lab)


@pytest.mark.parametrize(
    ("line", "under", "message"),
    [
        ("inject A->B", "A->B", "inject what?"),
        ('inject A->B "xy"', '"xy"', "these are not bytes in hexadecimal"),
        ('inject A->B "0"', '"0"', "these are not bytes in hexadecimal"),
        ('inject A->B ""', '""', "no frame has 0 bytes"),
        ("inject A->B packet=ev999", "ev999", "ev999 has no packet"),
        ("inject A->B packet=it", "it", "it has no packet"),
        ('inject A->B "00" packet=ev1', '"00"', "bytes, or a packet?"),
        ("inject A->B psn=3", "A->B", "change which packet?"),
    ],
)
def test_mistakes(line: str, under: str, message: str) -> None:
    lab = lab_of()
    error = misread(lab, line)
    assert error.message == message
    assert line[error.place.start : error.place.stop] == under
    assert seen(lab, Kind.PACKET_INJECTED) == []


def test_a_long_log_is_not_read_to_its_start(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = lab_of(
        "post_recv B.qp0 sg=B.mr0[0:64]", "post_send A.qp0 opcode=SEND sg=A.mr0[0:8]", "run"
    )
    assert misread(lab, "inject A->B packet=ev1").hint.startswith("the last one is ev")
    monkeypatch.setattr("rdmalab.views.occurrences.REACH", 10)
    for _ in range(10):
        well(lab, "poll_cq B.cq0")
    hint = misread(lab, "inject A->B packet=ev1").hint
    assert hint == "none was sent in the last 10 records: show wire"


def test_more_bytes_than_any_frame_has() -> None:
    lab = lab_of()
    assert "65,537" in misread(lab, f'inject A->B "{"00" * 65537}"').message


def test_what_is_no_packet_has_no_psn_to_change() -> None:
    lab = lab_of('inject A->B "00112233445566778899aabbccddeeff"')
    event = event_of(lab, Kind.PACKET_INJECTED, "A")
    assert "not an RDMA packet" in misread(lab, f"inject A->B packet=ev{event} psn=1").message
    well(lab, f"inject A->B packet=ev{event} byte=1; run")
    assert lab.look("B.port.drops") == 2


# --------------------------------------------------------------------------- anything at all
@settings(max_examples=examples(60))
@given(st.lists(st.binary(min_size=1, max_size=120), min_size=1, max_size=5))
def test_any_bytes(frames: list[bytes]) -> None:
    lab = lab_of(RECV, SEND)
    for frame in frames:
        well(lab, f'inject A->B "{frame.hex()}"; inject B->A "{frame.hex()}"')
    well(lab, "run 1ms")
    assert lab.look("A.cq0.next.status == SUCCESS")
    looked_at(lab)


@st.composite
def forged(draw: st.DrawFn) -> Packet:
    """Any packet at all, with a right ICRC, mostly for a queue pair that is there."""
    code = draw(st.sampled_from(sorted(OPCODES)))
    packet = Packet(
        FLOW, code, draw(st.sampled_from([0x11, 0x11, 0x11, 0x12, 0, 0xFFFFFF])),
        draw(st.sampled_from([0, 1, 2, 3, 0x7FFFFF, 0xFFFFFF])), draw(st.binary(max_size=600)),
        draw(st.booleans()), draw(st.booleans()),
    )  # fmt: skip
    for name in OPCODES[code].headers:
        kind = EXTENDED[name]
        values: dict[str, Any] = {}
        for field in kind.layout():
            top = (1 << field.bits) - 1
            edges = st.sampled_from([0, 1, top, 0x20000000 & top, 806 & top])
            values[field.name] = draw(st.one_of(edges, st.integers(0, top)))
        setattr(packet, name, kind(**values))
    return packet


@settings(max_examples=examples(150))
@given(st.lists(forged(), min_size=1, max_size=4))
def test_any_packet_at_all(forgeries: list[Packet]) -> None:
    """Whatever it says, nobody stumbles; the queue pair may die of it, as a real one would."""
    lab = lab_of(RECV, SEND, "post_send B.qp0 opcode=RDMA_READ sg=B.mr0[64:99] remote=A.mr0")
    for packet in forgeries:
        well(lab, f'inject A->B "{encode(packet).hex()}"; run 1us')
    well(lab, "run 1ms")
    looked_at(lab)
    assert len(packets(lab, Kind.PACKET_RECEIVED, "B")) >= 1


@settings(max_examples=examples(60))
@given(st.data())
def test_any_packet_that_was_with_anything_changed(data: st.DataObject) -> None:
    lab = lab_of(RECV, SEND, "run")
    event = event_of(lab, Kind.PACKET_SENT, data.draw(st.sampled_from("AB")))
    for _ in range(data.draw(st.integers(1, 3))):
        change = data.draw(st.sampled_from(["psn", "dest_qp", "pkey", "byte"]))
        value = data.draw(st.integers(0, 120))
        way = data.draw(st.sampled_from(["A->B", "B->A"]))
        well(lab, f"inject {way} packet=ev{event} {change}={value}; run 1ms")
    looked_at(lab)


# --------------------------------------------------------------------------- InfiniBand
def test_bytes_on_an_infiniband_cable() -> None:
    lab = lab_of(
        "post_recv B.qp0 sg=B.mr0[0:64]",
        "post_send A.qp0 opcode=SEND sg=A.mr0[0:8]",
        "run",
        pair="use rc_pair link_layer=InfiniBand",
    )
    event = last_event(lab.session.world)
    sent = event - 2 if event is not None else 0
    well(lab, f"inject A->B packet=ev{sent} psn=5")
    well(lab, "run")
    assert lab.look("wire.count(syndrome=NAK_SEQUENCE)") == 1
    for line in (f"inject A->B packet=ev{sent} byte=9 bit=1", "inject A->B 00ff"):
        well(lab, line)
        well(lab, "run")
    assert lab.session.world.nodes["B"].drops["malformed"] == 2
