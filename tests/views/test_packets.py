"""One packet taken apart: every byte of the frame lies in exactly one layer."""

import pytest

from rdmalab.grammar.nodes import Bare
from rdmalab.spec.records import A, Kind, event_of, kind_of, node_of
from rdmalab.spec.work import WROpcode
from rdmalab.views import ladder, packets
from rdmalab.views.ladder import PacketRow
from tests.pairs import Pair
from tests.raw import raw_pair, tcp_frame
from tests.views.looking import names_of

OPCODES = (
    WROpcode.SEND, WROpcode.RDMA_WRITE_WITH_IMM, WROpcode.RDMA_READ, WROpcode.ATOMIC_CMP_AND_SWP,
)  # fmt: skip


@pytest.mark.parametrize("opcode", OPCODES)
def test_the_layers_cover_the_frame_without_a_gap(opcode: WROpcode) -> None:
    pair = Pair()
    pair.b.recv(64)
    length = 8 if opcode is WROpcode.ATOMIC_CMP_AND_SWP else 13
    pair.a.issue(opcode, length)
    pair.run()
    for number, record in enumerate(pair.world.trace.records):
        if kind_of(record) is not Kind.PACKET_SENT:
            continue
        row = packets.decoded_row(pair.world, number)
        assert row is not None
        at = 0
        for layer in row.layers:
            pad = -len(record[A].payload) & 3 if layer.name == "ICRC" else 0
            assert layer.offset == at + pad
            at = layer.offset + layer.length
        assert at == len(row.raw)


def test_values_of_header_fields_in_words() -> None:
    pair = Pair(min_rnr_timer=12)
    pair.a.issue(WROpcode.SEND, 8)
    pair.run(3_000)
    event = next(
        event_of(record)
        for record in pair.world.trace.records
        if kind_of(record) is Kind.PACKET_SENT and node_of(record) == "B"
    )
    row = packets.of_event(pair.world, event)
    assert row is not None
    assert row.text == "B->A RNR_NAK psn=0 timer=12 (640 us)"
    texts = {layer.name: layer.text for layer in row.layers}
    assert "src=10.0.0.2 dst=10.0.0.1" in texts["IPv4"]
    assert "opcode=0x11 (RC ACKNOWLEDGE)" in texts["BTH"]
    assert texts["AETH"] == "AETH syndrome=0x2c (RNR_NAK, timer=12: 640 us) msn=0"
    assert "02:00:0a:00:00:01" in texts["Ethernet"]


def test_a_field_is_found_in_the_bytes_where_its_row_says() -> None:
    pair = Pair(psn=0x123456)
    pair.a.issue(WROpcode.RDMA_WRITE, 8)
    pair.run()
    number = next(
        n for n, r in enumerate(pair.world.trace.records) if kind_of(r) is Kind.PACKET_SENT
    )
    row = packets.decoded_row(pair.world, number)
    assert row is not None
    for layer in row.layers:
        octets = int.from_bytes(row.raw[layer.offset : layer.offset + layer.length], "big")
        for field in layer.fields:
            if isinstance(field.value, int) and layer.name != "ICRC":
                shift = 8 * layer.length - field.offset_bits - field.bits
                assert octets >> shift & (1 << field.bits) - 1 == field.value


def test_what_is_no_packet_has_no_layers() -> None:
    pair = Pair()
    assert packets.decoded_row(pair.world, 0) is None
    assert packets.decoded_row(pair.world, 10**6) is None
    assert packets.of_event(pair.world, 0) is None


def test_a_frame_is_taken_apart_too() -> None:
    pair = raw_pair()
    frame = tcp_frame(b"hello")
    pair.a.poke(0, frame)
    pair.a.issue(WROpcode.SEND, len(frame))
    pair.run()
    (number,) = (
        n for n, r in enumerate(pair.world.trace.records) if kind_of(r) is Kind.PACKET_SENT
    )
    row = packets.decoded_row(pair.world, number)
    assert row is not None
    assert row.raw == frame
    assert [layer.name for layer in row.layers] == ["Ethernet", "IPv4", "TCP", "payload"]
    assert [(layer.offset, layer.length) for layer in row.layers] == [
        (0, 14), (14, 20), (34, 20), (54, 5),
    ]  # fmt: skip
    text = " ".join(layer.text for layer in row.layers)
    assert "Ethernet dst=02:00:0a:00:00:02 src=02:00:0a:00:00:01 ethertype=0x800" in text
    assert "dst=10.0.0.2" in text
    assert row.text == "A->B TCP 10.0.0.1:1234 > 10.0.0.2:80 S seq=0 len=5"


def test_a_filter_keeps_the_packets_that_fit_all_of_it() -> None:
    pair = Pair()
    pair.a.issue(WROpcode.RDMA_WRITE, 600)
    pair.run()
    wanted = {"from": "A", "opcode": "RDMA_WRITE_MIDDLE"}
    (row,) = ladder.rows(pair.world, names_of(pair), wanted=wanted)
    assert isinstance(row, PacketRow)
    assert row.psn == 1
    wanted = {"syndrome": Bare("ACK")}
    assert len(ladder.rows(pair.world, names_of(pair), wanted=wanted)) == 1


def test_every_fact_is_a_field_of_the_row() -> None:
    assert set(packets.FACTS) <= set(PacketRow.__slots__)
    assert set(packets.SHORT.values()) <= set(packets.FACTS)
