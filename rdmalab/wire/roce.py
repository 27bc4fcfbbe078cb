"""Packets to RoCEv2 frames and back: Ethernet, IP, UDP, BTH, extended headers, payload, pad, ICRC.

From packet to packet of a flow only the end changes: the last word of the BTH and what follows it.
All before that, and its CRC, is made once and kept.
"""

from functools import lru_cache
from typing import Literal, NamedTuple
from zlib import crc32

from rdmalab.spec.opcodes import OPCODES
from rdmalab.wire.checksum import ICRC_LENGTH, ones_complement_sum, running_crc
from rdmalab.wire.header import Header
from rdmalab.wire.headers import BTH, UDP, Ethernet, IPv4, IPv6
from rdmalab.wire.packet import EXTENDED, IPV4, OVERHEAD, Flow, Packet, mapped_gid

# RoCEv1 (EtherType 0x8915, a GRH in place of IP and UDP) is out of scope.
ROCE_PORT = 4791
IDENTIFICATION = 0  # RFC 6864: of no meaning in a datagram that may not be fragmented

Reason = Literal[
    "too-short", "mac", "ethertype", "ip", "udp-port", "udp-length", "tver", "opcode", "pad",
    "icrc", "length", "lrh", "grh", "vcrc",
]  # fmt: skip
Described = list[tuple[str, list[tuple[str, int | bytes]]]]

_ETHERTYPE: dict[type[IPv4 | IPv6], int] = {IPv4: 0x0800, IPv6: 0x86DD}
_NETWORK = {ethertype.to_bytes(2, "big"): kind for kind, ethertype in _ETHERTYPE.items()}
_UDP_PROTOCOL = 17
_DONT_FRAGMENT = 0b010
_IPV4_WORDS = IPv4.LENGTH // 4  # the header length as IPv4 says it: no options
_SAME = BTH.field("ack_req").offset // 8  # the bytes of the BTH that repeat in a flow
_ACK_REQ = int.from_bytes(BTH.ones("ack_req")[_SAME:], "big")
_PSN = int.from_bytes(BTH.ones("psn")[_SAME:], "big")
_WORD = BTH.LENGTH - _SAME
_CACHED = 4096

# flow, opcode, payload length, dest_qp, pkey, solicited, migrated, fecn, becn, identification
_Key = tuple[Flow, int, int, int, int, bool, bool, bool, bool, int]


class Malformed(Exception):  # noqa: N818  (what it is, as Refused is)
    """The bytes are not an RDMA packet; a receiver counts and drops them."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason: Reason = reason


def encode(packet: Packet, identification: int = IDENTIFICATION) -> bytes:
    """The whole Ethernet frame, without FCS; ValueError for what does not fit its field."""
    start = _start(_key(packet, identification))
    psn = packet.psn
    if psn >> 24:
        raise ValueError(f"BTH.psn = {psn:#x} is not 24 bits")
    rest = (psn | _ACK_REQ if packet.ack_req else psn).to_bytes(_WORD, "big")
    for name in start.headers:
        rest += extended(packet, name).pack()
    rest += packet.payload + start.pad
    return start.octets + rest + crc32(rest, start.crc).to_bytes(ICRC_LENGTH, "little")


def decode(frame: bytes) -> Packet:
    """The packet in an Ethernet frame; Malformed, and nothing else, for any other bytes."""
    kind = _NETWORK.get(frame[12:14])
    if kind is None:
        raise Malformed("too-short" if len(frame) < Ethernet.LENGTH else "ethertype")
    body = Ethernet.LENGTH + kind.LENGTH + UDP.LENGTH + _SAME
    if len(frame) < body:
        raise Malformed("too-short")
    arrival = _arrival(frame[:body])
    end = arrival.end
    if len(frame) < end:
        raise Malformed("too-short")
    if crc32(frame[body : end - ICRC_LENGTH], arrival.crc) != int.from_bytes(
        frame[end - ICRC_LENGTH : end], "little"
    ):
        raise Malformed("icrc")
    word = int.from_bytes(frame[body : body + _WORD], "big")
    packet = Packet(
        arrival.flow, arrival.opcode, arrival.dest_qp, word & _PSN,
        frame[arrival.payload : arrival.pad], word & _ACK_REQ != 0, arrival.solicited,
        pkey=arrival.pkey, migrated=arrival.migrated, fecn=arrival.fecn, becn=arrival.becn,
    )  # fmt: skip
    at = body + _WORD
    for name in arrival.headers:
        header = EXTENDED[name].unpack(frame, at)
        setattr(packet, name, header)
        at += header.LENGTH
    return packet


def layers(packet: Packet, identification: int = IDENTIFICATION) -> list[Header]:
    """The headers of a packet, in wire order: what `layout()` and `LENGTH` explain byte by byte."""
    *lower, bth = _repeated(_key(packet, identification))
    bth.ack_req, bth.psn = packet.ack_req, packet.psn
    return [*lower, bth, *[extended(packet, n) for n in OPCODES[packet.opcode].headers]]


def ip_header(packet: Packet, identification: int = IDENTIFICATION) -> bytes:
    """The IP header of a packet: what a UD receiver finds before its data."""
    return _repeated(_key(packet, identification))[1].pack()


def describe(packet: Packet, identification: int = IDENTIFICATION) -> Described:
    """Each layer's name with its fields and values, from Ethernet to ICRC."""
    described: Described = [layer.described() for layer in layers(packet, identification)]
    if packet.payload:
        described.append(("payload", [("payload", packet.payload)]))
    icrc = int.from_bytes(encode(packet, identification)[-ICRC_LENGTH:], "little")
    described.append(("ICRC", [("icrc", icrc)]))
    return described


def _key(packet: Packet, identification: int) -> _Key:
    return (
        packet.flow, packet.opcode, len(packet.payload), packet.dest_qp, packet.pkey,
        packet.solicited, packet.migrated, packet.fecn, packet.becn, identification,
    )  # fmt: skip


def extended(packet: Packet, name: str) -> Header:
    """The extended header of this name; ValueError if the opcode has it and the packet has not."""
    header: Header | None = getattr(packet, name)
    if header is None:
        raise ValueError(f"{packet.opcode_row.label} needs {EXTENDED[name].__name__}")
    return header


class _Start(NamedTuple):
    """The first bytes of all packets of a flow, the CRC after them, and the form of the rest."""

    octets: bytes
    crc: int
    headers: tuple[str, ...]
    pad: bytes


# Packets become bytes only where a capture, a fault or a pane needs them. From this template
# that is at least 250 times as fast as scapy (`pack_vs_scapy`), and still costs more than the
# rest of a hop.
@lru_cache(maxsize=_CACHED)
def _start(key: _Key) -> _Start:
    _, opcode, length, *_ = key
    ethernet, ip, udp, bth = _repeated(key)
    head = ip.pack() + udp.pack() + bth.pack()[:_SAME]
    kind = IPv4 if isinstance(ip, IPv4) else IPv6
    octets = ethernet.pack() + head
    return _Start(octets, running_crc(head, kind), OPCODES[opcode].headers, bytes(-length & 3))


def _repeated(key: _Key) -> tuple[Ethernet, IPv4 | IPv6, UDP, BTH]:
    flow, opcode, length, dest_qp, pkey, solicited, migrated, fecn, becn, identification = key
    if opcode not in OPCODES:
        raise ValueError(f"no opcode {opcode:#x}")
    pad = -length & 3
    udp_length = OVERHEAD[opcode] + length + pad
    is_ipv4 = flow.form == IPV4
    ip = _ipv4(flow, udp_length, identification) if is_ipv4 else _ipv6(flow, udp_length)
    bth = BTH(
        opcode=opcode, solicited=solicited, migrated=migrated, pad_count=pad, tver=0, pkey=pkey,
        fecn=fecn, becn=becn, reserved6=0, dest_qp=dest_qp, ack_req=0, reserved7=0, psn=0,
    )  # fmt: skip
    ethernet = Ethernet(flow.dst_mac, flow.src_mac, _ETHERTYPE[type(ip)])
    # UDP checksum 0, as Soft-RoCE sends it (captured); a receiver must not insist on that.
    return ethernet, ip, UDP(flow.sport, ROCE_PORT, udp_length, checksum=0), bth


def _ipv4(flow: Flow, udp_length: int, identification: int) -> IPv4:
    ip = IPv4(
        version=4, ihl=_IPV4_WORDS, tos=flow.traffic_class, total_length=IPv4.LENGTH + udp_length,
        identification=identification, flags=_DONT_FRAGMENT, fragment_offset=0, ttl=flow.hop_limit,
        protocol=_UDP_PROTOCOL, checksum=0, src=flow.src & 0xFFFFFFFF, dst=flow.dst & 0xFFFFFFFF,
    )  # fmt: skip
    ip.checksum = ones_complement_sum(ip.pack()) ^ 0xFFFF
    return ip


def _ipv6(flow: Flow, udp_length: int) -> IPv6:
    return IPv6(
        version=6, traffic_class=flow.traffic_class, flow_label=flow.flow_label,
        payload_length=udp_length, next_header=_UDP_PROTOCOL, hop_limit=flow.hop_limit,
        src=flow.src, dst=flow.dst,
    )  # fmt: skip


class _Arrival(NamedTuple):
    """The values of a frame's repeated bytes; payload, pad and end are offsets in the frame."""

    flow: Flow
    opcode: int
    dest_qp: int
    pkey: int
    solicited: bool
    migrated: bool
    fecn: bool
    becn: bool
    headers: tuple[str, ...]
    payload: int
    pad: int
    end: int
    crc: int


@lru_cache(maxsize=_CACHED)
def _arrival(head: bytes) -> _Arrival:
    ethernet = Ethernet.unpack(head)
    kind = _NETWORK[ethernet.ethertype.to_bytes(2, "big")]
    ip = kind.unpack(head, ethernet.LENGTH)
    udp = UDP.unpack(head, ethernet.LENGTH + ip.LENGTH)
    bth = BTH.unpack(head + bytes(_WORD), ethernet.LENGTH + ip.LENGTH + udp.LENGTH)
    ip_end = _check_ipv4(ip) if isinstance(ip, IPv4) else _check_ipv6(ip)
    _check_udp(udp, ip_end - ip.LENGTH)
    padded = _check_bth(bth, udp.length)
    end = ethernet.LENGTH + ip_end
    return _Arrival(
        flow=_flow(ethernet, ip, udp), opcode=bth.opcode, dest_qp=bth.dest_qp, pkey=bth.pkey,
        solicited=bool(bth.solicited), migrated=bool(bth.migrated), fecn=bool(bth.fecn),
        becn=bool(bth.becn), headers=OPCODES[bth.opcode].headers,
        payload=end - ICRC_LENGTH - padded, pad=end - ICRC_LENGTH - bth.pad_count, end=end,
        crc=running_crc(head[ethernet.LENGTH :], kind),
    )  # fmt: skip


def _check_ipv4(ip: IPv4) -> int:
    """The packet's length from the IP header on."""
    whole = ip.flags & 0b001 == 0 and ip.fragment_offset == 0  # not one of several fragments
    if (
        (ip.version, ip.ihl, ip.protocol) != (4, _IPV4_WORDS, _UDP_PROTOCOL)
        or not whole
        or ones_complement_sum(ip.pack()) != 0xFFFF
        or ip.total_length < ip.LENGTH
    ):
        raise Malformed("ip")
    return ip.total_length


def _check_ipv6(ip: IPv6) -> int:
    if (ip.version, ip.next_header) != (6, _UDP_PROTOCOL):
        raise Malformed("ip")
    return ip.LENGTH + ip.payload_length


def _check_udp(udp: UDP, room: int) -> None:
    if udp.dport != ROCE_PORT:
        raise Malformed("udp-port")
    if udp.length != room:
        raise Malformed("udp-length")


def _check_bth(bth: BTH, udp_length: int) -> int:
    """The length of payload and pad."""
    if bth.tver:
        raise Malformed("tver")
    if bth.opcode not in OPCODES:
        raise Malformed("opcode")
    padded = udp_length - OVERHEAD[bth.opcode]
    if padded < 0:
        raise Malformed("too-short")
    if padded % 4 or padded < bth.pad_count:
        raise Malformed("pad")
    return padded


def _flow(ethernet: Ethernet, ip: IPv4 | IPv6, udp: UDP) -> Flow:
    macs = (ethernet.src, ethernet.dst)
    if isinstance(ip, IPv4):
        src, dst = mapped_gid(ip.src), mapped_gid(ip.dst)
        return Flow(src, dst, udp.sport, ip.ttl, ip.tos, 0, *macs)
    return Flow(ip.src, ip.dst, udp.sport, ip.hop_limit, ip.traffic_class, ip.flow_label, *macs)
