"""Packets to bytes and back: what is said arrives, and nothing false does."""

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rdmalab.spec.opcodes import OPCODES
from rdmalab.wire.checksum import MASKED, icrc
from rdmalab.wire.headers import BTH, UDP, Ethernet, IPv4, IPv6
from rdmalab.wire.packet import Flow, Packet
from rdmalab.wire.roce import Malformed, Reason, decode, describe, encode, layers

from .strategies import packets
from .vectors import LINK_ONE, LINK_TWO, ONE, TWO, V1, V2, V3, VECTORS, Vector

IPV4_BTH = Ethernet.LENGTH + IPv4.LENGTH + UDP.LENGTH


@pytest.mark.parametrize("vector", VECTORS)
def test_vectors_to_the_byte(vector: Vector) -> None:
    frame = encode(vector.packet, vector.identification)
    assert frame[Ethernet.LENGTH :] == vector.octets
    assert decode(frame) == vector.packet


@pytest.mark.parametrize("code", OPCODES, ids=lambda code: f"{code:02x}")
def test_every_opcode_comes_back(code: int) -> None:
    @settings(max_examples=20)
    @given(packets(opcode=code))
    def comes_back(packet: Packet) -> None:
        frame = encode(packet)
        assert decode(frame) == packet
        assert decode(frame + b"Ethernet pads short frames") == packet

    comes_back()


def test_both_families_say_who_and_how() -> None:
    flow = Flow(ONE, TWO, 0xC001, 7, 0x68, 0, src_mac=0x020000000001, dst_mac=0x020000000002)
    frame = encode(Packet(flow, 0x04, 1, 2))
    assert frame[:14].hex() == "0200000000020200000000010800"
    assert IPv4.unpack(frame, 14).ttl == 7
    assert IPv4.unpack(frame, 14).tos == 0x68
    frame = encode(Packet(replace(flow, src=LINK_ONE, dst=LINK_TWO), 0x04, 1, 2))
    assert frame[12:14].hex() == "86dd"
    assert IPv6.unpack(frame, 14).traffic_class == 0x68


@pytest.mark.parametrize(("length", "pad"), [(0, 0), (1, 3), (2, 2), (3, 1), (4, 0)])
def test_payloads_are_padded_with_zeros_to_whole_words(length: int, pad: int) -> None:
    frame = encode(Packet(V1.packet.flow, 0x04, 1, 2, b"\xff" * length))
    assert BTH.unpack(frame, IPV4_BTH).pad_count == pad
    assert frame[IPV4_BTH + BTH.LENGTH : -4] == b"\xff" * length + bytes(pad)


@pytest.mark.parametrize(
    ("packet", "message"),
    [
        (Packet(V1.packet.flow, 0x04, 1, 1 << 24), r"BTH\.psn"),
        (Packet(V1.packet.flow, 0x04, 1, -1), r"BTH\.psn"),
        (Packet(V1.packet.flow, 0x04, 1 << 24, 1), r"BTH\.dest_qp"),
        (Packet(V1.packet.flow, 0x04, 1, 1, bytes(1 << 16)), r"IPv4\.total_length"),
        (Packet(replace(V1.packet.flow, sport=1 << 16), 0x04, 1, 1), r"UDP\.sport"),
        (Packet(V1.packet.flow, 0x0A, 1, 1), "RDMA_WRITE_ONLY needs RETH"),
        (Packet(V1.packet.flow, 0x15, 1, 1), "no opcode 0x15"),
    ],
)
def test_what_no_frame_can_say_is_refused(packet: Packet, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        encode(packet)


def refusal(frame: bytes) -> Reason | None:
    try:
        decode(frame)
    except Malformed as malformed:
        return malformed.reason
    return None


def corrected(frame: bytearray) -> bytes:
    """A sender that means what it says: IPv4 checksum and ICRC fit the bytes again."""
    if frame[12:14] == b"\x08\x00":
        frame[24:26] = bytes(2)
        total = sum(int.from_bytes(frame[at : at + 2], "big") for at in range(14, 34, 2))
        frame[24:26] = ((total % 0xFFFF) ^ 0xFFFF).to_bytes(2, "big")
    frame[-4:] = icrc(bytes(frame[14:-4])).to_bytes(4, "little")
    return bytes(frame)


FRAME4, FRAME6 = encode(V1.packet), encode(V3.packet)
# fmt: off
WRONG: list[tuple[bytes, int, int, Reason]] = [  # frame, byte, new value, reason
    (FRAME4, 12, 0x09, "ethertype"),
    (FRAME4, 14, 0x55, "ip"),            # version
    (FRAME4, 14, 0x46, "ip"),            # options
    (FRAME4, 16, 0xFF, "udp-length"),    # IPv4 longer than UDP
    (FRAME4, 17, 0x10, "ip"),            # shorter than its own header
    (FRAME4, 20, 0x20, "ip"),            # more fragments
    (FRAME4, 21, 0x01, "ip"),            # a later fragment
    (FRAME4, 23, 0x06, "ip"),            # TCP
    (FRAME4, 37, 0xB8, "udp-port"),
    (FRAME4, 39, 0x21, "udp-length"),
    (FRAME4, 42, 0x15, "opcode"),        # a hole in the table
    (FRAME4, 42, 0x44, "opcode"),        # RD, never built
    (FRAME4, 42, 0x13, "too-short"),     # an AtomicETH has no room
    (FRAME4, 43, 0x01, "tver"),
    (FRAME4, 53, 0x65, "icrc"),          # the PSN, by somebody who did not know of the ICRC
    (FRAME6, 14, 0x42, "ip"),
    (FRAME6, 20, 0x06, "ip"),
    (FRAME6, 19, 0x30, "udp-length"),
]
# fmt: on


@pytest.mark.parametrize(
    ("frame", "at", "value", "reason"),
    WRONG,
    ids=[f"{reason}-{at}-{value}" for _, at, value, reason in WRONG],
)
def test_each_wrong_byte_has_its_reason(frame: bytes, at: int, value: int, reason: Reason) -> None:
    changed = bytearray(frame)
    changed[at] = value
    assert refusal(bytes(changed) if reason == "icrc" else corrected(changed)) == reason


def test_a_wrong_ipv4_checksum_is_found() -> None:
    changed = bytearray(FRAME4)
    changed[24] ^= 1
    assert refusal(bytes(changed)) == "ip"


def test_a_pad_longer_than_what_is_there_is_found() -> None:
    frame = bytearray(encode(Packet(V1.packet.flow, 0x04, 1, 2)))
    frame[43] = 0x10
    assert refusal(corrected(frame)) == "pad"


def test_a_packet_of_broken_words_is_found() -> None:
    frame = bytearray(FRAME4)
    frame[17] -= 1
    frame[39] -= 1
    del frame[-1]
    assert refusal(corrected(frame)) == "pad"


@pytest.mark.parametrize("frame", [FRAME4, FRAME6, encode(V2.packet)], ids=["v1", "v3", "v2"])
def test_every_cut_is_found(frame: bytes) -> None:
    assert {refusal(frame[:length]) for length in range(len(frame))} == {"too-short"}


def masked(network: type[IPv4 | IPv6]) -> bytes:
    return b"".join(layer.ones(*MASKED[layer]) for layer in (network, UDP, BTH))


@pytest.mark.parametrize(("frame", "network"), [(FRAME4, IPv4), (FRAME6, IPv6)], ids=["v4", "v6"])
def test_every_single_flipped_bit_is_found_unless_it_may_change(
    frame: bytes, network: type[IPv4 | IPv6]
) -> None:
    may_change = masked(network).ljust(len(frame) - 14, b"\x00")
    for at, bit in product(range(14, len(frame)), (1 << n for n in range(8))):
        flipped = bytearray(frame)
        flipped[at] ^= bit
        reason = refusal(bytes(flipped))
        if not may_change[at - 14] & bit:
            assert reason is not None, (at, bit)
        elif network is IPv4 and at < 34:
            assert reason == "ip", (at, bit)  # IPv4 has a checksum of its own
        else:
            assert reason is None, (at, bit)


def test_a_router_may_lower_the_ttl_and_a_switch_mark_congestion() -> None:
    frame = bytearray(FRAME4)
    icrc_sent = frame[-4:]
    frame[22] -= 1
    frame[15] |= 0b11
    frame[IPV4_BTH + 4] |= 0x80
    arrived = decode(corrected(frame))
    assert frame[-4:] == icrc_sent
    assert arrived.fecn
    assert (arrived.flow.hop_limit, arrived.flow.traffic_class) == (63, 3)
    assert encode(arrived) == bytes(frame)


@given(st.binary(max_size=200))
@example(b"")
@example(FRAME4[:14])
def test_random_bytes_are_malformed_and_nothing_worse(frame: bytes) -> None:
    assert refusal(frame) is not None


@given(packets(), st.data())
def test_mutilated_frames_are_malformed_and_nothing_worse(
    packet: Packet, data: st.DataObject
) -> None:
    frame = bytearray(encode(packet))
    for _ in range(data.draw(st.integers(1, 4))):
        frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(frame)))
    refusal(bytes(frame))
    refusal(bytes(frame[:cut]))
    if len(frame) >= 46:
        refusal(corrected(frame))


def test_describe_names_every_layer_and_field() -> None:
    described = describe(V3.packet)
    names = [name for name, _ in described]
    assert names == ["Ethernet", "IPv6", "UDP", "BTH", "RETH", "payload", "ICRC"]
    fields = dict(described)
    assert ("psn", 0xFFFFFF) in fields["BTH"]
    assert ("ack_req", 1) in fields["BTH"]
    assert ("pad_count", 1) in fields["BTH"]
    assert fields["RETH"] == [("va", 0x7F0000001000), ("rkey", 0x1234), ("dma_length", 3)]
    assert fields["payload"] == [("payload", b"abc")]
    assert fields["ICRC"] == [("icrc", int.from_bytes(V3.octets[-4:], "little"))]


@given(packets())
def test_layers_are_the_bytes(packet: Packet) -> None:
    packed = b"".join(layer.pack() for layer in layers(packet))
    padding = bytes(-len(packet.payload) & 3)
    assert encode(packet)[:-4] == packed + packet.payload + padding
