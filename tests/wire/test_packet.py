"""A packet as meaning: sizes, GIDs, and that it is plain data."""

import copy
import pickle

import pytest
from hypothesis import given

from rdmalab.spec.opcodes import OPCODES
from rdmalab.wire.headers import AETH
from rdmalab.wire.packet import EXTENDED, Packet, gid_text, ipv4_gid, wire_length
from rdmalab.wire.roce import encode

from .strategies import packets
from .vectors import V1, VECTORS, Vector


def test_ipv4_addresses_are_mapped_gids() -> None:
    assert ipv4_gid("10.0.0.1") == 0xFFFF0A000001
    assert gid_text(ipv4_gid("10.0.0.1")) == "::ffff:10.0.0.1"
    assert gid_text(0xFE80 << 112 | 1) == "fe80::1"
    assert gid_text(0) == "::"


@pytest.mark.parametrize("vector", VECTORS)
def test_size_is_what_the_vectors_have(vector: Vector) -> None:
    assert vector.packet.size == len(vector.octets)
    assert wire_length(vector.packet) == 14 + len(vector.octets)


@given(packets())
def test_wire_length_needs_no_bytes(packet: Packet) -> None:
    assert wire_length(packet) == len(encode(packet))


def test_every_extended_header_of_the_table_is_a_field_of_a_packet() -> None:
    assert {name for row in OPCODES.values() for name in row.headers} == set(EXTENDED)
    assert set(EXTENDED) <= set(Packet.__dataclass_fields__)


def test_a_packet_is_plain_slotted_data() -> None:
    packet = Packet(V1.packet.flow, 0x11, 0x12, 0x64, aeth=AETH(31, 1))
    assert not hasattr(packet, "__dict__")
    assert packet.opcode_row.label == "ACKNOWLEDGE"
    assert pickle.loads(pickle.dumps(packet)) == copy.deepcopy(packet) == packet
    assert packet != Packet(V1.packet.flow, 0x11, 0x12, 0x64, aeth=AETH(31, 2))
