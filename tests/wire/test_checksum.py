"""Checksums are those that scapy makes, and whatever bit flips is noticed."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether

from rdmalab.wire import checksum
from rdmalab.wire.checksum import icrc
from rdmalab.wire.inside import inside_frame
from rdmalab.wire.packet import Packet
from rdmalab.wire.roce import encode
from tests.each import examples

from .scapy_frames import scapy_icrc
from .strategies import ipv4_flows, ipv6_flows, packets, roce_sport
from .vectors import VECTORS, Vector

_IPS = [IP(src="10.0.0.1", dst="10.0.0.2", ttl=9), IPv6(src="fe80::1", dst="fe80::2")]
_TRANSPORTS = [TCP(sport=1, dport=2, seq=3, flags="PA"), UDP(sport=1, dport=2)]


def frame(ip: int, transport: int, data: bytes) -> bytes:
    return bytes(Ether(src="02::1", dst="02::2") / _IPS[ip] / _TRANSPORTS[transport] / data)


def without(octets: bytes) -> bytes:
    """The same frame with junk where the checksums belong."""
    inside, junk = inside_frame(octets), bytearray(octets)
    if octets[12:14] == b"\x08\0":
        junk[inside.ip_at + 10 : inside.ip_at + 12] = b"\xab\xcd"
    at = inside.transport_at + (16 if inside.protocol == 6 else 6)
    junk[at : at + 2] = b"\x12\x34"
    return bytes(junk)


@given(st.sampled_from([0, 1]), st.sampled_from([0, 1]), st.binary(max_size=99))
def test_filled_in_as_scapy_does(ip: int, transport: int, data: bytes) -> None:
    made = frame(ip, transport, data)
    assert checksum.is_right(made, inside_frame(made))
    spoiled = without(made)
    assert not checksum.is_right(spoiled, inside_frame(spoiled))
    assert checksum.filled(spoiled, inside_frame(spoiled)) == made


@given(st.integers(14 * 8, 14 * 8 + (20 + 20 + 11) * 8 - 1))
def test_no_flipped_bit_goes_unnoticed(bit: int) -> None:
    harmed = bytearray(frame(0, 0, b"hello world"))
    harmed[bit // 8] ^= 0x80 >> bit % 8
    assert not checksum.is_right(bytes(harmed), inside_frame(bytes(harmed)))


def test_padding_is_no_part_of_it() -> None:
    padded = frame(0, 1, b"hello") + b"\xff" * 13
    assert checksum.is_right(padded, inside_frame(padded))
    assert checksum.filled(padded, inside_frame(padded)) == padded


def test_udp_may_go_without_and_never_sends_the_zero_that_says_so() -> None:
    made = bytes(Ether() / IP(src="10.0.0.1", dst="10.0.0.2") / UDP(chksum=0) / b"x")
    assert checksum.is_right(made, inside_frame(made))
    first = frame(0, 1, b"\0\0")
    odd = frame(0, 1, first[40:42])  # its sum comes to 0
    assert odd[40:42] == b"\xff\xff"
    assert checksum.filled(without(odd), inside_frame(odd)) == odd


@pytest.mark.parametrize("ethertype", [b"\x08\x06", b"\x08\0", b"\x12\x34"])
def test_where_there_is_no_checksum_none_is_right(ethertype: bytes) -> None:
    octets = bytes(12) + ethertype + bytes(30)
    assert not checksum.is_right(octets, inside_frame(octets))
    assert checksum.filled(octets, inside_frame(octets)) == octets


@pytest.mark.parametrize("vector", VECTORS)
def test_vectors(vector: Vector) -> None:
    assert icrc(vector.octets[:-4]).to_bytes(4, "little") == vector.octets[-4:]


@settings(max_examples=examples(40))
@given(packets(flows=ipv4_flows.map(roce_sport)))
def test_scapy_agrees_on_ipv4(packet: Packet) -> None:
    frame = encode(packet, identification=packet.psn & 0xFFFF)
    assert frame[-4:] == scapy_icrc(frame) == icrc(frame[14:-4]).to_bytes(4, "little")


@settings(max_examples=examples(40))
@given(packets(flows=ipv6_flows.map(roce_sport)))
def test_scapy_agrees_on_ipv6(packet: Packet) -> None:
    frame = encode(packet)
    assert frame[-4:] == scapy_icrc(frame) == icrc(frame[14:-4]).to_bytes(4, "little")
