"""A frame says what it is, and its layers are all of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP, Ether

from rdmalab.wire.frame import Frame, layers, octets_of
from rdmalab.wire.header import Header
from rdmalab.wire.packet import ipv4_gid
from rdmalab.wire.roce import encode
from tests.pairs import Pair
from tests.raw import BROADCAST, GROUP, MAC_A, MAC_B, ethernet, tcp_frame, udp_frame

_IP = IP(src="10.0.0.1", dst="10.0.0.2")


@pytest.mark.parametrize(
    ("made", "summary"),
    [
        (ethernet() / _IP / TCP(sport=1234, dport=80, seq=1, flags="PA") / bytes(512),
         "TCP 10.0.0.1:1234 > 10.0.0.2:80 PA seq=1 len=512"),
        (ethernet() / _IP / UDP(sport=5, dport=53) / b"xyz", "UDP 10.0.0.1:5 > 10.0.0.2:53 len=3"),
        (ethernet() / IPv6(src="fe80::1", dst="fe80::2") / UDP(sport=5, dport=6),
         "UDP [fe80::1]:5 > [fe80::2]:6 len=0"),
        (ethernet() / _IP / ICMP(), "IPv4 10.0.0.1 > 10.0.0.2 protocol 1"),
        (ethernet() / ARP(op=1, psrc="10.0.0.1", pdst="10.0.0.2"),
         "ARP who has 10.0.0.2? tell 10.0.0.1"),
        (ethernet() / ARP(op=2, psrc="10.0.0.2", pdst="10.0.0.1"), "ARP 10.0.0.2 is here"),
        (Ether(dst=MAC_B, src=MAC_A, type=0x88B5) / bytes(6), "ethertype 0x88b5 20B"),
    ],
)  # fmt: skip
def test_what_it_is_in_a_few_words(made: Ether, summary: str) -> None:
    assert Frame(bytes(made)).summary == summary


def test_addresses() -> None:
    frame = Frame(tcp_frame())
    assert frame.dst_mac == 0x02000A000002
    assert frame.src_mac == 0x02000A000001
    assert frame.ethertype == 0x0800
    assert not frame.is_group
    assert Frame(tcp_frame(dst=BROADCAST)).is_group
    assert Frame(tcp_frame(dst=GROUP)).is_group


def test_what_a_port_takes_for_rdma() -> None:
    assert Frame(udp_frame(dport=4791)).is_roce
    assert not Frame(udp_frame(dport=4790)).is_roce
    assert not Frame(tcp_frame(dport=4791)).is_roce


@given(st.binary(min_size=14, max_size=90), st.sampled_from([b"\x08\0", b"\x86\xdd", b"\x08\x06"]))
def test_every_byte_stands_in_one_layer(octets: bytes, ethertype: bytes) -> None:
    frame = Frame(octets[:12] + ethertype + octets[14:])
    assert frame.summary
    assert whole(frame) == frame.octets


def test_layers_of_a_padded_segment() -> None:
    frame = Frame(tcp_frame(b"data", options=[("MSS", 9)]) + b"pad")
    names = [name for name, _, _ in layers(frame)]
    assert names == ["Ethernet", "IPv4", "TCP", "options", "payload", "padding"]
    assert whole(frame) == frame.octets


def whole(frame: Frame) -> bytes:
    octets = b""
    for _, offset, content in layers(frame):
        assert offset == len(octets)
        octets += content.pack() if isinstance(content, Header) else content
    return octets


def test_an_rdma_packet_travels_as_it_is_encoded() -> None:
    pair = Pair()
    packet = pair.b.incoming("SEND_ONLY", 0, b"1234")
    assert octets_of(packet) == encode(packet)
    assert octets_of(Frame(b"x" * 20)) == b"x" * 20
    assert packet.flow.dst == ipv4_gid("10.0.0.2")
