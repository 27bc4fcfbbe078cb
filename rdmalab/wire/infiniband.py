"""InfiniBand packets to bytes and back: LRH, GRH if there is one, BTH, payload, ICRC, VCRC.

Sources: IBA 7.7 (LRH), 7.8 (ICRC and VCRC), 8.3 (GRH), 9.2 (BTH).
"""

from zlib import crc32

from rdmalab.spec.opcodes import OPCODES
from rdmalab.wire.checksum import ICRC_LENGTH
from rdmalab.wire.header import Header
from rdmalab.wire.headers import BTH, GRH, LRH, UDP
from rdmalab.wire.packet import EXTENDED, OVERHEAD, VCRC_LENGTH, LidFlow, Packet
from rdmalab.wire.roce import Described, Malformed, extended

_IBA_LOCAL, _IBA_GLOBAL = 0b10, 0b11  # LNH: what stands after the LRH
_IBA_TRANSPORT = 0x1B  # next header of a GRH
_WORD = 4  # packet_length counts words of so many bytes
_ONES16 = 0xFFFF
_POLYNOMIAL = 0xD008  # x^16 + x^12 + x^3 + x + 1, the lowest bit first

# What may change on the way counts as ones in the ICRC (IBA 7.8.1).
_MASKED: dict[type[Header], tuple[str, ...]] = {
    LRH: ("vl",),
    GRH: ("traffic_class", "flow_label", "hop_limit"),
    BTH: ("fecn", "becn", "reserved6"),
}
_MASKS = {kind: int.from_bytes(kind.ones(*names), "big") for kind, names in _MASKED.items()}


def _table_entry(octet: int) -> int:
    for _ in range(8):
        octet = octet >> 1 ^ (_POLYNOMIAL if octet & 1 else 0)
    return octet


_TABLE = tuple(map(_table_entry, range(256)))


def vcrc(octets: bytes) -> int:
    """The variant CRC of a packet from LRH to ICRC; it travels least significant byte first."""
    crc = _ONES16
    for octet in octets:
        crc = crc >> 8 ^ _TABLE[(crc ^ octet) & 0xFF]
    return crc ^ _ONES16


def icrc(headers: list[Header], rest: bytes) -> int:
    """The ICRC of a packet: its headers up to the BTH, and what follows up to the pad."""
    crc = 0
    for header in headers:
        masked = int.from_bytes(header.pack(), "big") | _MASKS[type(header)]
        crc = crc32(masked.to_bytes(header.LENGTH, "big"), crc)
    return crc32(rest, crc)


# --------------------------------------------------------------------------- to bytes
def encode(packet: Packet) -> bytes:
    """The packet from LRH to VCRC; ValueError for what does not fit its field."""
    first = _first(packet)
    rest = b"".join(extended(packet, name).pack() for name in OPCODES[packet.opcode].headers)
    rest += packet.payload + bytes(-len(packet.payload) & 3)
    octets = b"".join(header.pack() for header in first) + rest
    octets += icrc(first, rest).to_bytes(ICRC_LENGTH, "little")
    return octets + vcrc(octets).to_bytes(VCRC_LENGTH, "little")


def layers(packet: Packet) -> list[Header]:
    """The headers of a packet, in wire order."""
    return [*_first(packet), *[extended(packet, n) for n in OPCODES[packet.opcode].headers]]


def grh_octets(packet: Packet) -> bytes:
    """The GRH of a packet: what a UD receiver finds before its data; nothing if there is none."""
    return next((layer.pack() for layer in _first(packet) if isinstance(layer, GRH)), b"")


def describe(packet: Packet) -> Described:
    """Each layer's name with its fields and values, from LRH to VCRC."""
    described: Described = [layer.described() for layer in layers(packet)]
    if packet.payload:
        described.append(("payload", [("payload", packet.payload)]))
    octets = encode(packet)
    invariant = int.from_bytes(octets[-ICRC_LENGTH - VCRC_LENGTH : -VCRC_LENGTH], "little")
    variant = int.from_bytes(octets[-VCRC_LENGTH:], "little")
    return [*described, ("ICRC", [("icrc", invariant)]), ("VCRC", [("vcrc", variant)])]


def _first(packet: Packet) -> list[Header]:
    """LRH, GRH if there is one, BTH."""
    if packet.opcode not in OPCODES:
        raise ValueError(f"no opcode {packet.opcode:#x}")
    flow, pad = packet.flow, -len(packet.payload) & 3
    assert isinstance(flow, LidFlow)
    after = OVERHEAD[packet.opcode] - UDP.LENGTH + len(packet.payload) + pad  # BTH to ICRC
    bth = BTH(
        packet.opcode, packet.solicited, packet.migrated, pad, 0, packet.pkey, packet.fecn,
        packet.becn, 0, packet.dest_qp, packet.ack_req, 0, packet.psn,
    )  # fmt: skip
    if not flow.has_grh:
        return [_lrh(flow, _IBA_LOCAL, LRH.LENGTH + after), bth]
    grh = GRH(
        6, flow.traffic_class, flow.flow_label, after, _IBA_TRANSPORT, flow.hop_limit,
        flow.sgid, flow.dgid,
    )  # fmt: skip
    return [_lrh(flow, _IBA_GLOBAL, LRH.LENGTH + GRH.LENGTH + after), grh, bth]


def _lrh(flow: LidFlow, lnh: int, length: int) -> LRH:
    return LRH(0, 0, flow.sl, 0, lnh, flow.dst, 0, length // _WORD, flow.src)


# --------------------------------------------------------------------------- from bytes
def decode(octets: bytes) -> Packet:
    """The packet in these bytes; Malformed, and nothing else, for any others."""
    lrh = _read_lrh(octets)
    grh = _read_grh(octets) if lrh.lnh == _IBA_GLOBAL else None
    at = LRH.LENGTH + (grh.LENGTH if grh else 0)
    end = len(octets) - ICRC_LENGTH - VCRC_LENGTH
    if end < at + BTH.LENGTH:
        raise Malformed("too-short")
    bth = BTH.unpack(octets, at)
    body = at + BTH.LENGTH
    first: list[Header] = [lrh, *([grh] if grh else []), bth]
    if icrc(first, octets[body:end]) != int.from_bytes(octets[end:-VCRC_LENGTH], "little"):
        raise Malformed("icrc")
    packet = Packet(
        _flow(lrh, grh), bth.opcode, bth.dest_qp, bth.psn, b"", bool(bth.ack_req),
        bool(bth.solicited), bth.pkey, bool(bth.migrated), bool(bth.fecn), bool(bth.becn),
    )  # fmt: skip
    _read_rest(packet, bth, octets[body:end])
    return packet


def _read_lrh(octets: bytes) -> LRH:
    if len(octets) < LRH.LENGTH + VCRC_LENGTH:
        raise Malformed("too-short")
    lrh = LRH.unpack(octets)
    if lrh.packet_length * _WORD + VCRC_LENGTH != len(octets):
        raise Malformed("length")
    if vcrc(octets[:-VCRC_LENGTH]) != int.from_bytes(octets[-VCRC_LENGTH:], "little"):
        raise Malformed("vcrc")
    if lrh.lver or lrh.lnh not in (_IBA_LOCAL, _IBA_GLOBAL):
        raise Malformed("lrh")
    return lrh


def _read_grh(octets: bytes) -> GRH:
    if len(octets) < LRH.LENGTH + GRH.LENGTH:
        raise Malformed("too-short")
    grh = GRH.unpack(octets, LRH.LENGTH)
    after = len(octets) - LRH.LENGTH - GRH.LENGTH - VCRC_LENGTH
    if (grh.ip_version, grh.next_header, grh.payload_length) != (6, _IBA_TRANSPORT, after):
        raise Malformed("grh")
    return grh


def _flow(lrh: LRH, grh: GRH | None) -> LidFlow:
    flow = LidFlow(lrh.slid, lrh.dlid, sl=lrh.sl)
    if grh is None:
        return flow
    return LidFlow(
        lrh.slid, lrh.dlid, 0, grh.hop_limit, grh.traffic_class, grh.flow_label,
        sl=lrh.sl, sgid=grh.sgid, dgid=grh.dgid,
    )  # fmt: skip


def _read_rest(packet: Packet, bth: BTH, rest: bytes) -> None:
    """Extended headers, payload and pad into the packet."""
    if bth.tver:
        raise Malformed("tver")
    if bth.opcode not in OPCODES:
        raise Malformed("opcode")
    at = 0
    for name in OPCODES[bth.opcode].headers:
        kind = EXTENDED[name]
        if len(rest) < at + kind.LENGTH:
            raise Malformed("too-short")
        setattr(packet, name, kind.unpack(rest, at))
        at += kind.LENGTH
    if len(rest) - at < bth.pad_count:
        raise Malformed("pad")
    packet.payload = rest[at : len(rest) - bth.pad_count]
