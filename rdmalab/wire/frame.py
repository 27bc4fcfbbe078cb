"""An Ethernet frame of a RAW_PACKET queue pair: bytes that a program can set freely."""

from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address
from typing import ClassVar

from rdmalab.spec.opcodes import FRAME
from rdmalab.spec.row import dataclass
from rdmalab.wire.header import Header
from rdmalab.wire.headers import ARP, TCP, UDP, Ethernet, IPv4
from rdmalab.wire.inside import ARP_TYPE, Inside, inside_frame
from rdmalab.wire.links import encode
from rdmalab.wire.packet import Packet
from rdmalab.wire.roce import ROCE_PORT

LABEL = FRAME
_GROUP_BIT = 1 << 40  # the first bit on the wire: to more than one
_TCP_FLAGS = "FSRPAUEC"
_ARP_REQUEST = 1
_KEPT = 1024


@dataclass(slots=True)
class Frame:
    """Immutable; without FCS, at least 14 bytes.

    Attributes that only an RDMA packet has are None, as for an absent header.
    """

    octets: bytes
    dest_qp: ClassVar[int] = 0
    opcode: ClassVar[None] = None
    psn: ClassVar[None] = None
    reth: ClassVar[None] = None
    atomiceth: ClassVar[None] = None
    atomicacketh: ClassVar[None] = None
    aeth: ClassVar[None] = None
    immdt: ClassVar[None] = None
    deth: ClassVar[None] = None
    xrceth: ClassVar[None] = None
    ieth: ClassVar[None] = None
    ack_req: ClassVar[bool] = False
    solicited: ClassVar[bool] = False

    @property
    def payload(self) -> bytes:
        """All of its bytes: the cable does not interpret them."""
        return self.octets

    @property
    def dst_mac(self) -> int:
        return int.from_bytes(self.octets[:6], "big")

    @property
    def src_mac(self) -> int:
        return int.from_bytes(self.octets[6:12], "big")

    @property
    def ethertype(self) -> int:
        return int.from_bytes(self.octets[12:14], "big")

    @property
    def is_group(self) -> bool:
        """True for broadcast and multicast."""
        return self.dst_mac & _GROUP_BIT != 0

    @property
    def inside(self) -> Inside:
        """The IP and transport headers that it carries."""
        return _inside(self.octets)

    @property
    def is_roce(self) -> bool:
        """True if a port takes it for an RDMA packet: UDP to port 4791."""
        transport = self.inside.transport
        return isinstance(transport, UDP) and transport.dport == ROCE_PORT

    @property
    def summary(self) -> str:
        """`TCP 10.0.0.1:1234 > 10.0.0.2:80 seq=1 len=512`, `ARP`, `IPv4 protocol 47`."""
        if (arp := self.arp) is not None:
            asks = arp.operation == _ARP_REQUEST
            target, sender = IPv4Address(arp.target_ip), IPv4Address(arp.sender_ip)
            return f"ARP who has {target}? tell {sender}" if asks else f"ARP {sender} is here"
        inside = self.inside
        if inside.ip is None:
            return f"ethertype {self.ethertype:#06x} {len(self.octets)}B"
        if inside.transport is None:
            return f"{_addresses(inside, '', '')} protocol {inside.protocol}"
        return _transport_words(inside, inside.transport)

    @property
    def arp(self) -> ARP | None:
        is_one = self.ethertype == ARP_TYPE and len(self.octets) >= Ethernet.LENGTH + ARP.LENGTH
        return ARP.unpack(self.octets, Ethernet.LENGTH) if is_one else None


_inside = lru_cache(maxsize=_KEPT)(inside_frame)


def _addresses(inside: Inside, source: str, target: str) -> str:
    ip = inside.ip
    assert ip is not None
    if isinstance(ip, IPv4):
        return f"IPv4 {IPv4Address(ip.src)}{source} > {IPv4Address(ip.dst)}{target}"
    src, dst = (str(IPv6Address(address)) for address in (ip.src, ip.dst))
    return f"IPv6 {f'[{src}]' if source else src}{source} > {f'[{dst}]' if target else dst}{target}"


def _transport_words(inside: Inside, transport: TCP | UDP) -> str:
    ends = _addresses(inside, f":{transport.sport}", f":{transport.dport}")
    ends = ends.partition(" ")[2]
    length = f"len={inside.end - inside.payload_at}"
    if isinstance(transport, UDP):
        return f"UDP {ends} {length}"
    flags = "".join(name for bit, name in enumerate(_TCP_FLAGS) if transport.flags >> bit & 1)
    return f"TCP {ends} {f'{flags} ' if flags else ''}seq={transport.seq} {length}"


def octets_of(packet: Packet | Frame) -> bytes:
    """The bytes on the wire, from the link layer header on."""
    return packet.octets if isinstance(packet, Frame) else encode(packet)


# A layer's name, where it begins, and its header, or bytes without a layout.
Layer = tuple[str, int, Header | bytes]


def layers(frame: Frame) -> list[Layer]:
    """The frame from Ethernet to its padding, every byte in one layer."""
    octets, inside = frame.octets, frame.inside
    found: list[Layer] = [("Ethernet", 0, Ethernet.unpack(octets))]
    at = Ethernet.LENGTH
    if (arp := frame.arp) is not None:
        found.append(("ARP", at, arp))
        at += ARP.LENGTH
    for header, start in ((inside.ip, inside.ip_at), (inside.transport, inside.transport_at)):
        if header is not None:
            found += _bytes("options", octets, at, start)
            found.append((type(header).__name__, start, header))
            at = start + header.LENGTH
    if inside.ip is None:
        return [*found, *_bytes("payload", octets, at, len(octets))]
    found += _bytes("options", octets, at, inside.payload_at)
    found += _bytes("payload", octets, inside.payload_at, inside.end)
    return [*found, *_bytes("padding", octets, inside.end, len(octets))]


def _bytes(name: str, octets: bytes, start: int, stop: int) -> list[Layer]:
    return [(name, start, octets[start:stop])] if stop > start else []
