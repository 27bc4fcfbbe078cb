"""InfiniBand packets to bytes and back, and their two CRCs, against figures that are not ours."""

from dataclasses import replace
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdmalab.spec.opcodes import OPCODES
from rdmalab.wire.headers import BTH, GRH, LRH, RETH
from rdmalab.wire.infiniband import decode, describe, encode, grh_octets, icrc, layers, vcrc
from rdmalab.wire.packet import LidFlow, Packet, wire_length
from rdmalab.wire.roce import Malformed, Reason
from tests.each import each

from .strategies import bits, lid_flows, packets

# The example packet of IBA 7.8.2, RDMA WRITE ONLY from LID 0x17d2 to 0x375c on VL 7.
SAMPLE = bytes.fromhex(
    "7012375c000e17d2 0a2024870087b1b3000dec2a 01710a1c015d400238f27a050000000e"
    "bb884d85fd5cfba4728bc0690ed40000 9625b75a 45fa"
)
FLOW = LidFlow(2, 5, sl=3)
GLOBAL = replace(FLOW, sgid=0xFE80 << 112 | 1, dgid=0xFE80 << 112 | 2, hop_limit=7, flow_label=9)
SEND = Packet(FLOW, 0x04, 0x11, 0x64, b"hello", ack_req=True, migrated=True)


def crc16(octets: bytes) -> int:
    """The VCRC bit by bit, by the polynomial as IBA 7.8.2 writes it: 0x100b."""
    register = 0xFFFF
    for octet in octets:
        for nth in range(8):
            out = register >> 15 ^ octet >> nth & 1
            register = register << 1 & 0xFFFF ^ (0x100B if out else 0)
    reflected = int(f"{register:016b}"[::-1], 2)
    return reflected ^ 0xFFFF


def refusal(octets: bytes) -> Reason | None:
    try:
        decode(octets)
    except Malformed as malformed:
        return malformed.reason
    return None


def mended(octets: bytes) -> bytes:
    """With CRCs that fit the bytes again, reckoned here."""
    body = bytearray(octets[:-6])
    masked = bytearray(body)
    masked[0] |= 0xF0
    if body[1] & 3 == 3:
        masked[8] |= 0x0F
        masked[9:12] = b"\xff\xff\xff"
        masked[15] = 0xFF
    masked[(48 if body[1] & 3 == 3 else 8) + 4] = 0xFF
    body += crc32(masked).to_bytes(4, "little")
    return bytes(body) + crc16(bytes(body)).to_bytes(2, "little")


def test_the_example_of_the_specification() -> None:
    packet = decode(SAMPLE)
    assert packet.flow == LidFlow(0x17D2, 0x375C, sl=1)
    assert (packet.opcode_row.label, packet.pkey) == ("RDMA_WRITE_ONLY", 0x2487)
    assert packet.reth == RETH(0x01710A1C015D4002, 0x38F27A05, 14)
    assert packet.payload == bytes.fromhex("bb884d85fd5cfba4728bc0690ed4")
    assert vcrc(SAMPLE[:-2]).to_bytes(2, "little") == SAMPLE[-2:]
    first = [LRH.unpack(SAMPLE), BTH.unpack(SAMPLE, 8)]
    assert icrc(first, SAMPLE[20:-6]).to_bytes(4, "little") == SAMPLE[-6:-2]


@given(st.binary(max_size=40))
def test_the_vcrc_is_the_polynomial_of_the_specification(octets: bytes) -> None:
    assert vcrc(octets) == crc16(octets)


@pytest.mark.parametrize("code", OPCODES, ids=lambda code: f"{code:02x}")
def test_every_opcode_comes_back(code: int) -> None:
    @settings(max_examples=15)
    @given(packets(opcode=code, flows=lid_flows))
    def comes_back(packet: Packet) -> None:
        octets = encode(packet)
        assert decode(octets) == packet
        assert len(octets) == wire_length(packet)
        assert mended(octets) == octets

    comes_back()


@given(packets(flows=lid_flows), st.data())
def test_one_flipped_bit_never_passes(packet: Packet, data: st.DataObject) -> None:
    octets = bytearray(encode(packet))
    at = data.draw(st.integers(0, 8 * len(octets) - 1))
    octets[at // 8] ^= 1 << at % 8
    assert refusal(bytes(octets)) in ("vcrc", "length")


def test_the_icrc_is_blind_to_what_a_switch_or_a_router_changes() -> None:
    octets = bytearray(encode(replace(SEND, flow=GLOBAL)))
    octets[0] |= 0x70  # VL
    octets[8 + 7] = 3  # hop limit
    octets[48 + 4] |= 0x80  # FECN
    octets[-2:] = crc16(bytes(octets[:-2])).to_bytes(2, "little")
    read = decode(bytes(octets))
    assert (read.fecn, read.flow.hop_limit) == (True, 3)
    octets[3] ^= 1  # the DLID
    octets[-2:] = crc16(bytes(octets[:-2])).to_bytes(2, "little")
    assert refusal(bytes(octets)) == "icrc"


def test_a_grh_travels_only_if_it_is_asked_for() -> None:
    assert [type(layer) for layer in layers(SEND)] == [LRH, BTH]
    assert grh_octets(SEND) == b""
    routed = replace(SEND, flow=GLOBAL)
    assert [type(layer) for layer in layers(routed)] == [LRH, GRH, BTH]
    assert GRH.unpack(grh_octets(routed)).dgid == GLOBAL.dgid
    assert GRH.unpack(grh_octets(routed)).payload_length == len(encode(routed)) - 8 - 40 - 2
    assert len(encode(routed)) == len(encode(SEND)) + GRH.LENGTH


@given(packets(flows=lid_flows))
def test_the_description_is_the_bytes(packet: Packet) -> None:
    octets, described = encode(packet), dict(describe(packet))
    assert next(iter(described)) == "LRH"
    assert list(described)[-2:] == ["ICRC", "VCRC"]
    assert dict(described["VCRC"])["vcrc"] == int.from_bytes(octets[-2:], "little")
    assert dict(described["ICRC"])["icrc"] == int.from_bytes(octets[-6:-2], "little")
    assert (
        b"".join(layer.pack() for layer in layers(packet))
        == octets[: sum(layer.LENGTH for layer in layers(packet))]
    )


PLAIN, ROUTED = encode(SEND), encode(replace(SEND, flow=GLOBAL))
# fmt: off
WRONG: list[tuple[bytes, int, int, Reason]] = [  # packet, byte, new value, reason
    (PLAIN,  0, 0x01, "lrh"),         # a later version of the link layer
    (PLAIN,  1, 0x31, "lrh"),         # IPv6 and not IBA
    (PLAIN,  5, 0x01, "length"),
    (PLAIN,  8, 0x15, "opcode"),      # a hole in the table
    (PLAIN,  8, 0x13, "too-short"),   # an AtomicETH has no room
    (PLAIN,  9, 0xC1, "tver"),
    (ROUTED, 8, 0x40, "grh"),         # no version 6
    (ROUTED, 14, 0x11, "grh"),        # UDP
    (ROUTED, 13, 0x01, "grh"),        # payload length
]
# fmt: on


@pytest.mark.parametrize(("octets", "at", "value", "reason"), WRONG)
def test_each_wrong_byte_has_its_reason(octets: bytes, at: int, value: int, reason: Reason) -> None:
    changed = bytearray(octets)
    changed[at] = value
    assert refusal(mended(bytes(changed))) == reason


@each("length", range(len(PLAIN)))
def test_a_packet_cut_short_is_none(length: int) -> None:
    assert refusal(PLAIN[:length]) in ("too-short", "length")


def test_short_but_whole_packets() -> None:
    def whole(head: str) -> bytes:
        octets = bytearray(bytes.fromhex(head))
        octets[5] = (len(octets) + 4) // 4
        body = bytes(octets) + bytes(4)
        return body + crc16(body).to_bytes(2, "little")

    assert refusal(whole("0002000500000002")) == "too-short"
    assert refusal(whole("0003000500000002")) == "too-short"


def test_padding_beyond_the_payload() -> None:
    empty = bytearray(encode(replace(SEND, payload=b"")))
    empty[9] |= 0x10
    assert refusal(mended(bytes(empty))) == "pad"


@pytest.mark.parametrize(
    ("packet", "message"),
    [
        (replace(SEND, opcode=0x15), "no opcode 0x15"),
        (replace(SEND, opcode=0x0A), "RDMA_WRITE_ONLY needs RETH"),
        (replace(SEND, flow=LidFlow(2, 1 << 16)), r"LRH\.dlid"),
        (replace(SEND, flow=LidFlow(2, 4, sl=16)), r"LRH\.sl"),
        (replace(SEND, payload=bytes(8192)), r"LRH\.packet_length"),
    ],
)
def test_what_no_packet_can_say_is_refused(packet: Packet, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        encode(packet)


@given(bits(8))
def test_any_bytes_are_read_or_malformed(octet: int) -> None:
    refusal(bytes([octet]) * 40)
