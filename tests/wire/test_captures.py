"""What Soft-RoCE really sent is read, and written again to the byte."""

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from rdmalab.wire.headers import IPv4
from rdmalab.wire.roce import decode, encode

CAPTURES = sorted((Path(__file__).parents[1] / "data" / "pcap").glob("*.pcap"))


def frames(path: Path) -> Iterator[bytes]:
    octets = path.read_bytes()
    at = 24
    while at < len(octets):
        (length,) = struct.unpack_from("<I", octets, at + 8)
        yield octets[at + 16 : at + 16 + length]
        at += 16 + length


def test_there_are_captures() -> None:
    assert len(CAPTURES) >= 10


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
def test_captured_packets_come_back_to_the_byte(path: Path) -> None:
    for frame in frames(path):
        identification = IPv4.unpack(frame, 14).identification
        assert encode(decode(frame), identification) == frame
