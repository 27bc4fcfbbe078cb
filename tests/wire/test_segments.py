"""The pieces of a stream, read by scapy: sequence, flags, lengths, identifications, checksums."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import IP, TCP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether

from rdmalab.wire.segments import Template, pieces, segment, template

_V4 = IP(src="10.0.0.1", dst="10.0.0.2", id=0xFFFE, len=0, chksum=0)
_V6 = IPv6(src="fe80::1", dst="fe80::2", plen=0)


def header(ip: IP | IPv6 = _V4, *, is_frame: bool = True, **tcp: Any) -> Template:
    fields: dict[str, Any] = {"sport": 1234, "dport": 80, "seq": 1000, "chksum": 0, **tcp}
    before = bytes(Ether(src="02::1", dst="02::2", type=0x86DD if ip is _V6 else 0x0800))
    octets = (before if is_frame else before[12:14] + bytes(2)) + bytes(ip / TCP(**fields))
    made = template(octets, is_frame=is_frame)
    assert made is not None
    return made


def cut(made: Template, data: bytes, mss: int) -> list[bytes]:
    count = pieces(len(data), mss)
    return [
        segment(made, n, n * mss, data[n * mss : n * mss + mss], last=n == count - 1)
        for n in range(count)
    ]


@given(st.binary(max_size=500), st.integers(1, 200), st.booleans(), st.booleans())
def test_scapy_puts_the_stream_together_and_finds_every_checksum_right(
    data: bytes, mss: int, old: bool, is_frame: bool
) -> None:
    ip = _V4 if old else _V6
    made = header(ip, is_frame=is_frame, seq=0xFFFFFFF0, flags="PAF")
    stream, awaited = b"", 0xFFFFFFF0
    for octets in cut(made, data, mss):
        kind = IP if old else IPv6
        packet = kind(octets[14 if is_frame else 4 :])
        assert octets[: 14 if is_frame else 4] == made.octets[: 14 if is_frame else 4]
        again = packet.copy()
        if old:
            assert packet.len == len(packet)
            del again.chksum
        else:
            assert packet.plen == len(packet) - 40
        del again[TCP].chksum
        assert bytes(again) == bytes(packet)
        assert packet[TCP].seq == awaited
        stream += bytes(packet[TCP].payload)
        awaited = (awaited + len(packet[TCP].payload)) % 2**32
    assert stream == data


def test_each_piece_has_its_own_identification_and_they_wrap() -> None:
    found = [IP(octets[14:]).id for octets in cut(header(), bytes(40), 10)]
    assert found == [0xFFFE, 0xFFFF, 0, 1]


def test_what_ends_a_stream_stands_on_the_last_piece_and_what_begins_it_on_the_first() -> None:
    made = header(flags="FPACU", ack=9)
    found = [str(IP(octets[14:])[TCP].flags) for octets in cut(made, bytes(30), 10)]
    assert found == ["AUC", "AU", "FPAU"]
    assert {IP(octets[14:])[TCP].ack for octets in cut(made, bytes(30), 10)} == {9}


def test_one_piece_is_the_header_and_all() -> None:
    (only,) = cut(header(flags="PA"), b"hello", 100)
    assert str(IP(only[14:])[TCP].flags) == "PA"
    assert bytes(IP(only[14:])[TCP].payload) == b"hello"


@pytest.mark.parametrize(
    ("length", "mss", "count"), [(0, 10, 1), (1, 10, 1), (10, 10, 1), (11, 10, 2), (250, 100, 3)]
)
def test_how_many_pieces(length: int, mss: int, count: int) -> None:
    assert pieces(length, mss) == count


def test_a_header_ends_with_tcp_and_holds_no_data() -> None:
    octets = header().octets
    assert template(octets[:-1], is_frame=True) is None
    assert template(octets + b"x", is_frame=True) is None
    assert template(octets, is_frame=False) is None
    assert template(b"", is_frame=True) is None
    with_options = header(options=[("Timestamp", (1, 2))]).octets
    assert len(with_options) > len(octets)
