"""The ICRC: the reference's vectors, and scapy as a second opinion."""

import pytest
from hypothesis import given, settings

from rdmalab.wire.icrc import icrc
from rdmalab.wire.packet import Packet
from rdmalab.wire.roce import encode
from tests.each import examples

from .scapy_frames import scapy_icrc
from .strategies import ipv4_flows, ipv6_flows, packets, roce_sport
from .vectors import VECTORS, Vector


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
