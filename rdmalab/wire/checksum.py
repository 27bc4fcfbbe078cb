"""Checksums: that of the Internet (RFC 1071: IPv4, TCP, UDP), and the invariant CRC of RoCE."""

from struct import unpack
from zlib import crc32

from rdmalab.wire.header import Header
from rdmalab.wire.headers import BTH, UDP, IPv4, IPv6
from rdmalab.wire.inside import Inside

_ONES = 0xFFFF
_NONE = 0  # UDP over IPv4: the sender made no checksum
_IP_CHECKSUM = IPv4.field("checksum").offset // 8


def ones_complement_sum(octets: bytes) -> int:
    """16-bit words added with the carry put back; an odd byte counts as the high half of a word."""
    if len(octets) % 2:
        octets += b"\0"
    total: int = sum(unpack(f">{len(octets) // 2}H", octets))
    while total >> 16:
        total = (total & _ONES) + (total >> 16)
    return total


def filled(octets: bytes, inside: Inside) -> bytes:
    """The bytes with the checksums that a sender owes, whatever stood there."""
    whole = bytearray(octets)
    if isinstance(inside.ip, IPv4):
        at = inside.ip_at + _IP_CHECKSUM
        whole[at : at + 2] = bytes(2)
        header = bytes(whole[inside.ip_at : inside.transport_at])
        whole[at : at + 2] = (ones_complement_sum(header) ^ _ONES).to_bytes(2, "big")
    if inside.transport is not None:
        at = inside.transport_at + type(inside.transport).field("checksum").offset // 8
        whole[at : at + 2] = bytes(2)
        value = _over_pseudo_header(bytes(whole), inside) ^ _ONES
        if value == _NONE and isinstance(inside.transport, UDP):
            value = _ONES
        whole[at : at + 2] = value.to_bytes(2, "big")
    return bytes(whole)


def is_right(octets: bytes, inside: Inside) -> bool:
    """True if there are checksums, and all of them fit: what IP_CSUM_OK means."""
    if inside.ip is None or inside.transport is None:
        return False
    if isinstance(inside.ip, IPv4):
        header = octets[inside.ip_at : inside.transport_at]
        if ones_complement_sum(header) != _ONES:
            return False
        if isinstance(inside.transport, UDP) and inside.transport.checksum == _NONE:
            return True
    return _over_pseudo_header(octets, inside) == _ONES


def _over_pseudo_header(octets: bytes, inside: Inside) -> int:
    ip, segment = inside.ip, octets[inside.transport_at : inside.end]
    width = 4 if isinstance(ip, IPv4) else 16
    assert ip is not None
    addresses = ip.src.to_bytes(width, "big") + ip.dst.to_bytes(width, "big")
    pseudo = addresses + len(segment).to_bytes(4, "big") + inside.protocol.to_bytes(4, "big")
    return ones_complement_sum(pseudo + segment)


# --------------------------------------------------------------------------- invariant CRC
ICRC_LENGTH = 4

# What may change on the way; the IP and UDP checksums change with it.
# Addresses, identification and flags stay under the CRC.
MASKED: dict[type[Header], tuple[str, ...]] = {
    IPv4: ("tos", "ttl", "checksum"),
    IPv6: ("traffic_class", "flow_label", "hop_limit"),
    UDP: ("checksum",),
    BTH: ("fecn", "becn", "reserved6"),
}

_IGNORED = {kind: kind.ones(*names) for kind, names in MASKED.items()}

# IBTA A17: eight bytes of ones stand where InfiniBand has its Local Route Header.
_DUMMY_LRH = crc32(b"\xff" * 8)


def running_crc(head: bytes, network: type[IPv4 | IPv6]) -> int:
    """The CRC so far, after `head`: IP, UDP and as much of the BTH as there is."""
    ones = (_IGNORED[network] + _IGNORED[UDP] + _IGNORED[BTH])[: len(head)]
    masked = int.from_bytes(head, "big") | int.from_bytes(ones, "big")
    return crc32(masked.to_bytes(len(head), "big"), _DUMMY_LRH)


def icrc(octets: bytes) -> int:
    """The ICRC of a packet from IP header to pad; it travels least significant byte first."""
    network = IPv4 if octets[0] >> 4 == 4 else IPv6
    length = network.LENGTH + UDP.LENGTH + BTH.LENGTH
    return crc32(octets[length:], running_crc(octets[:length], network))
