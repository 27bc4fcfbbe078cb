"""The contents of a network packet: IP, and TCP or UDP in it, parsed from arbitrary bytes."""

from rdmalab.spec.row import dataclass
from rdmalab.wire.headers import TCP, UDP, Ethernet, IPv4, IPv6

IPV4, ARP_TYPE, IPV6 = 0x0800, 0x0806, 0x86DD
_TRANSPORTS: dict[int, type[TCP | UDP]] = {6: TCP, 17: UDP}
IPOIB_LENGTH = 4  # ethertype and two reserved bytes before the IP header of a datagram
_WORD = 4
_MORE_FRAGMENTS = 0b001


@dataclass(slots=True)
class Inside:
    """Headers and their offsets; None for what is missing, truncated or unknown.

    transport_at: after the IP header. payload_at: after the last header that was parsed. end: of
    the IP packet; the rest is padding.
    """

    ip: IPv4 | IPv6 | None
    ip_at: int
    transport: TCP | UDP | None
    transport_at: int
    payload_at: int
    end: int
    protocol: int


def inside_frame(octets: bytes, *, is_template: bool = False) -> Inside:
    """The IP and transport headers in an Ethernet frame."""
    ethertype = int.from_bytes(octets[12:14], "big")
    return look_inside(octets, ethertype, Ethernet.LENGTH, is_template=is_template)


def inside_datagram(octets: bytes, *, is_template: bool = False) -> Inside:
    """The headers in a UD datagram that begins as IP over InfiniBand does (RFC 4391)."""
    ethertype = int.from_bytes(octets[:2], "big")
    return look_inside(octets, ethertype, IPOIB_LENGTH, is_template=is_template)


def look_inside(octets: bytes, ethertype: int, at: int, *, is_template: bool = False) -> Inside:
    """The packet of this ethertype that begins at `at`.

    is_template: the octets are headers only, whose lengths are not filled in yet.
    """
    nothing = Inside(None, at, None, at, at, len(octets), 0)
    if ethertype == IPV4 and len(octets) >= at + IPv4.LENGTH:
        return _in_ipv4(octets, at, is_template) or nothing
    if ethertype == IPV6 and len(octets) >= at + IPv6.LENGTH:
        return _in_ipv6(octets, at, is_template) or nothing
    return nothing


def _in_ipv4(octets: bytes, at: int, is_template: bool) -> Inside | None:
    ip = IPv4.unpack(octets, at)
    behind = at + ip.ihl * _WORD
    end = len(octets) if is_template else at + ip.total_length
    if ip.version != _WORD or behind < at + IPv4.LENGTH or not behind <= end <= len(octets):
        return None
    found = Inside(ip, at, None, behind, behind, end, ip.protocol)
    is_whole = not ip.flags & _MORE_FRAGMENTS and ip.fragment_offset == 0
    return _with_transport(octets, found) if is_whole else found


def _in_ipv6(octets: bytes, at: int, is_template: bool) -> Inside | None:
    ip = IPv6.unpack(octets, at)
    behind = at + IPv6.LENGTH
    end = len(octets) if is_template else behind + ip.payload_length
    if ip.version != 6 or end > len(octets):
        return None
    found = Inside(ip, at, None, behind, behind, end, ip.next_header)
    return _with_transport(octets, found)


def _with_transport(octets: bytes, found: Inside) -> Inside:
    kind = _TRANSPORTS.get(found.protocol)
    if kind is None or found.transport_at + kind.LENGTH > found.end:
        return found
    transport = kind.unpack(octets, found.transport_at)
    length = transport.data_offset * _WORD if isinstance(transport, TCP) else UDP.LENGTH
    if length < kind.LENGTH or found.transport_at + length > found.end:
        return found
    found.transport, found.payload_at = transport, found.transport_at + length
    return found
