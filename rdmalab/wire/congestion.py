"""The congestion mark in IP headers, which routers set (RFC 3168)."""

from rdmalab.wire.checksum import ones_complement_sum
from rdmalab.wire.headers import Ethernet, IPv4
from rdmalab.wire.inside import IPV4, IPV6

CONGESTION_EXPERIENCED = 0b11  # of the two ECN bits, the lowest of the traffic class
_CAPABLE = (0b01, 0b10)  # RFC 3168, 5: ECT(1), ECT(0); other packets a router drops, not marks

_IPV4_TOS = Ethernet.LENGTH + IPv4.field("tos").offset // 8
_IPV4_SUM = Ethernet.LENGTH + IPv4.field("checksum").offset // 8
_IPV6_CLASS = Ethernet.LENGTH + 1  # its low half is the high half of this byte
_ONES = 0xFFFF


def is_marked(traffic_class: int) -> bool:
    """True if a router has marked congestion."""
    return traffic_class & CONGESTION_EXPERIENCED == CONGESTION_EXPERIENCED


def marked(frame: bytes) -> bytes:
    """The frame with the mark; unchanged if it has no IP header, or its sender does not use ECN."""
    ethertype = int.from_bytes(frame[12:14], "big")
    if ethertype == IPV4 and len(frame) >= Ethernet.LENGTH + IPv4.LENGTH:
        capable = frame[_IPV4_TOS] & CONGESTION_EXPERIENCED in _CAPABLE
        return _marked_ipv4(bytearray(frame)) if capable else frame
    if ethertype == IPV6 and len(frame) > _IPV6_CLASS:
        octets = bytearray(frame)
        if octets[_IPV6_CLASS] >> 4 & CONGESTION_EXPERIENCED in _CAPABLE:
            octets[_IPV6_CLASS] |= CONGESTION_EXPERIENCED << 4
        return bytes(octets)
    return frame


def _marked_ipv4(octets: bytearray) -> bytes:
    """The checksum is updated, not computed again (RFC 1624): a wrong one stays wrong."""
    word = slice(_IPV4_TOS - 1, _IPV4_TOS + 1)
    before = int.from_bytes(octets[word], "big")
    octets[_IPV4_TOS] |= CONGESTION_EXPERIENCED
    after = int.from_bytes(octets[word], "big")
    old = int.from_bytes(octets[_IPV4_SUM : _IPV4_SUM + 2], "big")
    parts = [old ^ _ONES, before ^ _ONES, after]
    total = ones_complement_sum(b"".join(part.to_bytes(2, "big") for part in parts))
    octets[_IPV4_SUM : _IPV4_SUM + 2] = (total ^ _ONES).to_bytes(2, "big")
    return bytes(octets)
