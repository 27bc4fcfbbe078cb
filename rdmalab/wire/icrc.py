"""The invariant CRC of RoCEv2: fields that routers and switches change are replaced by ones."""

from zlib import crc32

from rdmalab.wire.header import Header
from rdmalab.wire.headers import BTH, UDP, IPv4, IPv6

ICRC_LENGTH = 4

# What may change on the way; the IP and UDP checksums change with it.
MASKED: dict[type[Header], tuple[str, ...]] = {
    IPv4: ("tos", "ttl", "checksum"),
    IPv6: ("traffic_class", "flow_label", "hop_limit"),
    UDP: ("checksum",),
    BTH: ("fecn", "becn", "reserved6"),
}

_ONES = {kind: kind.ones(*names) for kind, names in MASKED.items()}

# IBTA A17: eight bytes of ones stand where InfiniBand has its Local Route Header.
_DUMMY_LRH = crc32(b"\xff" * 8)


def running_crc(head: bytes, network: type[IPv4 | IPv6]) -> int:
    """The CRC so far, after `head`: IP, UDP and as much of the BTH as there is."""
    ones = (_ONES[network] + _ONES[UDP] + _ONES[BTH])[: len(head)]
    masked = int.from_bytes(head, "big") | int.from_bytes(ones, "big")
    return crc32(masked.to_bytes(len(head), "big"), _DUMMY_LRH)


def icrc(octets: bytes) -> int:
    """The ICRC of a packet from IP header to pad; it travels least significant byte first."""
    network = IPv4 if octets[0] >> 4 == 4 else IPv6
    length = network.LENGTH + UDP.LENGTH + BTH.LENGTH
    return crc32(octets[length:], running_crc(octets[:length], network))
