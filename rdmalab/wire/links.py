"""Packets to bytes and back on both link layers: the flow of a packet says which one it is."""

from rdmalab.spec.limits import LinkLayer
from rdmalab.wire import infiniband, roce
from rdmalab.wire.header import Header
from rdmalab.wire.packet import LidFlow, Packet
from rdmalab.wire.roce import Described


def encode(packet: Packet) -> bytes:
    """The whole packet as it travels; ValueError for what does not fit its field."""
    return infiniband.encode(packet) if is_infiniband(packet) else roce.encode(packet)


def decode(octets: bytes, link_layer: LinkLayer) -> Packet:
    """The packet in these bytes; Malformed, and nothing else, for any others."""
    if link_layer is LinkLayer.INFINIBAND:
        return infiniband.decode(octets)
    return roce.decode(octets)


def layers(packet: Packet) -> list[Header]:
    """The headers of a packet, in wire order."""
    return infiniband.layers(packet) if is_infiniband(packet) else roce.layers(packet)


def describe(packet: Packet) -> Described:
    """Each layer's name with its fields and values, in wire order."""
    return infiniband.describe(packet) if is_infiniband(packet) else roce.describe(packet)


def before_datagram(packet: Packet) -> bytes:
    """The header that a UD receiver finds at the end of the 40 bytes before its data."""
    if is_infiniband(packet):
        return infiniband.grh_octets(packet)
    return roce.ip_header(packet)


def is_infiniband(packet: Packet) -> bool:
    """True if it travels with an LRH."""
    return isinstance(packet.flow, LidFlow)


def link_layer_of(packet: Packet) -> LinkLayer:
    """The link layer whose bytes `encode` makes."""
    return LinkLayer.INFINIBAND if is_infiniband(packet) else LinkLayer.ETHERNET
