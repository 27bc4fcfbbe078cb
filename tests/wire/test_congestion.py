"""The congestion mark: two bits of the IP header, and a checksum that goes on being right."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdmalab.spec.opcodes import BY_LABEL
from rdmalab.wire.checksum import ones_complement_sum
from rdmalab.wire.congestion import is_marked, marked
from rdmalab.wire.packet import Flow, Packet, ipv4_gid
from rdmalab.wire.roce import decode, encode

V4 = (ipv4_gid("10.0.0.1"), ipv4_gid("10.0.0.2"))
V6 = (0xFE80 << 112 | 1, 0xFE80 << 112 | 2)
_SEND = BY_LABEL["SEND_ONLY"][0]


def frame_of(ends: tuple[int, int], traffic_class: int, payload: bytes = b"abcd") -> bytes:
    return encode(Packet(Flow(*ends, 0xC001, 64, traffic_class), _SEND, 0x11, 5, payload))


@pytest.mark.parametrize("ends", [V4, V6])
@given(traffic_class=st.integers(0, 255), payload=st.binary(max_size=40))
def test_a_marked_packet_is_the_same_packet_but_for_the_mark(
    ends: tuple[int, int], traffic_class: int, payload: bytes
) -> None:
    before = frame_of(ends, traffic_class, payload)
    read, sent = decode(marked(before)), decode(before)
    capable = traffic_class & 3 in (1, 2)
    assert read.flow.traffic_class == (traffic_class | 3 if capable else traffic_class)
    read.flow, sent.flow = Flow(0, 0, 0), Flow(0, 0, 0)
    assert read == sent


@pytest.mark.parametrize("ends", [V4, V6])
def test_twice_is_once(ends: tuple[int, int]) -> None:
    once = marked(frame_of(ends, 2))
    assert marked(once) == once != frame_of(ends, 2)


def test_the_checksum_is_right_again_where_it_was_right() -> None:
    assert ones_complement_sum(marked(frame_of(V4, 0x6A))[14:34]) == 0xFFFF


def test_a_checksum_that_was_wrong_stays_wrong() -> None:
    spoiled = bytearray(frame_of(V4, 1))
    spoiled[30] ^= 4
    assert ones_complement_sum(marked(bytes(spoiled))[14:34]) != 0xFFFF


@given(st.binary(max_size=60))
def test_other_bytes_come_through(octets: bytes) -> None:
    found = marked(octets)
    assert len(found) == len(octets)
    if octets[12:14] not in (b"\x08\x00", b"\x86\xdd"):
        assert found == octets


def test_only_both_bits_are_the_mark() -> None:
    assert [is_marked(value) for value in (0, 1, 2, 3, 4, 0xFF)] == [
        False, False, False, True, False, True,
    ]  # fmt: skip
