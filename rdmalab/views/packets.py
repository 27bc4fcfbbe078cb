"""One packet decoded: layers, fields, bits and bytes."""

from collections.abc import Callable, Mapping
from ipaddress import IPv4Address, IPv6Address
from itertools import islice
from typing import Any

from rdmalab.grammar.answers import fits
from rdmalab.session.names import Names
from rdmalab.spec import records as rec
from rdmalab.spec.opcodes import OPCODES
from rdmalab.spec.records import Kind, Record
from rdmalab.spec.refusals import CLASS_MASK, VALUE_MASK, Syndrome
from rdmalab.spec.row import dataclass
from rdmalab.spec.timers import RNR_NS
from rdmalab.views import fmt, occurrences
from rdmalab.views.transit_effects import ORIGINS, PACKETS
from rdmalab.wire import frame as frames
from rdmalab.wire.checksum import ICRC_LENGTH
from rdmalab.wire.congestion import CONGESTION_EXPERIENCED
from rdmalab.wire.frame import Frame, octets_of
from rdmalab.wire.links import describe, layers
from rdmalab.wire.packet import VCRC_LENGTH, Packet
from rdmalab.world.world import World


@dataclass(slots=True)
class FieldRow:
    """One field. bits: how wide; offset_bits: from the start of its layer."""

    name: str
    value: int | bytes
    bits: int
    offset_bits: int
    text: str


@dataclass(slots=True)
class LayerRow:
    """One layer. offset, length: its bytes in the frame."""

    name: str
    offset: int
    length: int
    fields: list[FieldRow]

    @property
    def text(self) -> str:
        """`AETH syndrome=RNR_NAK timer=12 (640 us) msn=2`."""
        return " ".join([self.name, *(f"{field.name}={field.text}" for field in self.fields)])


@dataclass(slots=True)
class DecodedRow:
    """A packet: its summary, its layers in wire order, and the frame's bytes."""

    number: int
    event: int
    at_ns: int
    text: str
    layers: list[LayerRow]
    raw: bytes


CARRIES = (*PACKETS, Kind.PACKET_RECEIVED, Kind.PACKET_DROPPED, Kind.PACKET_LOST)


def decoded_row(world: World, number: int) -> DecodedRow | None:
    """The packet of record `number`; None if that record is not about a packet."""
    records = world.trace.records
    if not 0 <= number < len(records) or rec.kind_of(records[number]) not in CARRIES:
        return None
    record = records[number]
    packet: Packet | Frame = rec.packet_of(record)
    source, target = fmt.ends_of(world, packet)
    if rec.kind_of(record) is Kind.PACKET_INJECTED:
        source, target = rec.node_of(record), rec.injection_of(record).target
    text = f"{source or '?'}->{target or '?'} {fmt.packet_words(packet)}"
    event, at_ns = rec.event_of(record), rec.at_ns_of(record)
    injected = rec.kind_of(record) is Kind.PACKET_INJECTED
    raw = rec.injection_of(record).octets if injected else octets_of(packet)
    return DecodedRow(number, event, at_ns, text, layer_rows(packet), raw)


def of_event(world: World, event: int) -> DecodedRow | None:
    """The packet that an event sent or received; None where there is none."""
    records = world.trace.records
    for number in records.span(event):
        if rec.kind_of(records[number]) in CARRIES:
            return decoded_row(world, number)
    return None


def last_event(world: World) -> int | None:
    """The newest event that put a packet on the cable, if one of the last REACH records did."""
    newest = islice(reversed(world.trace.records), occurrences.REACH)
    sent = (record for record in newest if rec.kind_of(record) in PACKETS)
    return next((int(rec.event_of(record)) for record in sent), None)


def layer_rows(packet: Packet | Frame) -> list[LayerRow]:
    """Each layer from Ethernet or LRH to the last CRC, of a frame to its payload."""
    return _frame_rows(packet) if isinstance(packet, Frame) else _packet_rows(packet)


def _frame_rows(frame: Frame) -> list[LayerRow]:
    rows: list[LayerRow] = []
    for name, offset, content in frames.layers(frame):
        if isinstance(content, bytes):
            length, values = len(content), [FieldRow(name, content, 8 * len(content), 0, "")]
        else:
            length, places = content.LENGTH, content.layout()
            values = [
                FieldRow(f.name, getattr(content, f.name), f.bits, f.offset, "") for f in places
            ]
        for row in values:
            row.text = _field_text(name, row.name, row.value, row.bits)
        rows.append(LayerRow(name, offset, length, values))
    return rows


def _packet_rows(packet: Packet) -> list[LayerRow]:
    headers = layers(packet)
    pad = -len(packet.payload) & 3
    rows: list[LayerRow] = []
    offset = 0
    for index, (name, values) in enumerate(describe(packet)):
        if index < len(headers):
            layout = [(field.bits, field.offset) for field in headers[index].layout()]
            length = headers[index].LENGTH
        else:
            layout = [(8 * _size(name, value), 0) for _, value in values]
            length = sum(bits for bits, _ in layout) // 8
        offset += pad if name == "ICRC" else 0
        fields = [
            FieldRow(field, value, bits, at, _field_text(name, field, value, bits))
            for (field, value), (bits, at) in zip(values, layout, strict=True)
        ]
        rows.append(LayerRow(name, offset, length, fields))
        offset += length
    return rows


_CRC_BYTES = {"ICRC": ICRC_LENGTH, "VCRC": VCRC_LENGTH}


def _size(layer: str, value: int | bytes) -> int:
    return _CRC_BYTES[layer] if isinstance(value, int) else len(value)


# --------------------------------------------------------------------------- values in words
def _mac(value: int) -> str:
    return ":".join(f"{octet:02x}" for octet in value.to_bytes(6, "big"))


def _opcode(value: int) -> str:
    row = OPCODES.get(value)
    return f"{value:#04x} ({row.service.name} {row.label})" if row else f"{value:#04x}"


def _syndrome(value: int) -> str:
    if value & CLASS_MASK == Syndrome.RNR_NAK:
        code = value & VALUE_MASK
        return f"{value:#04x} (RNR_NAK, timer={code}: {fmt.duration(RNR_NS[code])})"
    kind = value & CLASS_MASK if value & CLASS_MASK == Syndrome.ACK else value
    name = Syndrome(kind).name if kind in tuple(Syndrome) else "reserved"
    return f"{value:#04x} ({name})"


_ECN = {0b00: "", 0b01: " (ECT(1))", 0b10: " (ECT(0))", 0b11: " (congestion experienced)"}


def _traffic_class(value: int) -> str:
    return f"{value}{_ECN[value & CONGESTION_EXPERIENCED]}"


def _lnh(value: int) -> str:
    return f"{value} ({'a GRH' if value & 1 else 'the BTH'} is next)"


_HEX = frozenset(
    {"pkey", "va", "rkey", "qkey", "ethertype", "checksum", "icrc", "vcrc", "imm_data"}
)
_BY_FIELD: dict[tuple[str, str], Callable[[int], str]] = {
    ("IPv4", "tos"): _traffic_class,
    ("IPv6", "traffic_class"): _traffic_class,
    ("IPv4", "src"): lambda value: str(IPv4Address(value)),
    ("IPv4", "dst"): lambda value: str(IPv4Address(value)),
    ("LRH", "lnh"): _lnh,
    ("LRH", "packet_length"): lambda value: f"{value} ({4 * value} B)",
    ("ARP", "sender_ip"): lambda value: str(IPv4Address(value)),
    ("ARP", "target_ip"): lambda value: str(IPv4Address(value)),
    ("TCP", "flags"): hex,
    ("BTH", "opcode"): _opcode,
    ("BTH", "dest_qp"): hex,
    ("DETH", "src_qp"): hex,
    ("XRCETH", "srqn"): hex,
    ("AETH", "syndrome"): _syndrome,
}


_BY_WIDTH: dict[int, Callable[[int], str]] = {48: _mac, 128: lambda v: str(IPv6Address(v))}


def _field_text(layer: str, field: str, value: int | bytes, bits: int) -> str:
    if isinstance(value, bytes):
        return f"{len(value)} B"
    if (say := _BY_FIELD.get((layer, field)) or _BY_WIDTH.get(bits)) is not None:
        return say(value)
    return hex(value) if field in _HEX else str(value)


Fact = Callable[[World, Names, Record], Any]


def _dest_qp(world: World, names: Names, record: Record) -> str:
    packet: Packet | Frame = rec.packet_of(record)
    target = fmt.ends_of(world, packet)[1]
    return fmt.qp_name(names, target, packet.dest_qp) if packet.dest_qp else ""


def _memory(field: str) -> Fact:
    """A field of the RETH or the AtomicETH; None without one."""

    def fact(_world: World, _names: Names, record: Record) -> int | None:
        packet: Packet | Frame = rec.packet_of(record)
        header = packet.reth or packet.atomiceth
        value: int | None = getattr(header, field, None)
        return value

    return fact


def _of(header: str, field: str) -> Fact:
    """A field of a header that only some packets have."""

    def fact(_world: World, _names: Names, record: Record) -> int | None:
        found = getattr(rec.packet_of(record), header, None)
        return None if found is None else int(getattr(found, field))

    return fact


def _group(_world: World, _names: Names, record: Record) -> str:
    packet: Packet | Frame = rec.packet_of(record)
    return fmt.group_of(packet)


# What a packet says of itself, by the field of PacketRow: rows and questions are made of these.
FACTS: dict[str, Fact] = {
    "event": lambda _w, _n, r: rec.event_of(r),
    "at_ns": lambda _w, _n, r: rec.at_ns_of(r),
    "source": lambda _w, _n, r: rec.node_of(r),
    "target": lambda w, _n, r: fmt.target_of(w, r),
    "qp": lambda _w, n, r: (
        fmt.qp_name(n, rec.node_of(r), rec.object_of(r)) if rec.object_of(r) else ""
    ),
    "dest_qp": _dest_qp,
    "opcode": lambda _w, _n, r: fmt.label(rec.packet_of(r)),
    "psn": lambda _w, _n, r: rec.packet_of(r).psn,
    "length": lambda _w, _n, r: len(rec.packet_of(r).payload),
    "ack_req": lambda _w, _n, r: rec.packet_of(r).ack_req,
    "solicited": lambda _w, _n, r: rec.packet_of(r).solicited,
    "syndrome": lambda _w, _n, r: fmt.syndrome(rec.packet_of(r)),
    "timer": lambda _w, _n, r: fmt.timer_code(rec.packet_of(r)),
    "msn": lambda _w, _n, r: a.msn if (a := rec.packet_of(r).aeth) else None,
    "va": _memory("va"),
    "rkey": _memory("rkey"),
    "dma_length": _memory("dma_length"),
    "imm_data": lambda _w, _n, r: i.imm_data if (i := rec.packet_of(r).immdt) else None,
    "qkey": _of("deth", "qkey"),
    "srqn": _of("xrceth", "srqn"),
    "inv_rkey": _of("ieth", "rkey"),
    "group": _group,
    "slid": lambda _w, _n, r: fmt.lids_of(rec.packet_of(r))[0],
    "dlid": lambda _w, _n, r: fmt.lids_of(rec.packet_of(r))[1],
    "mig_req": lambda _w, _n, r: bool(getattr(rec.packet_of(r), "migrated", False)),
    "ethertype": lambda _w, _n, r: getattr(rec.packet_of(r), "ethertype", None),
    "summary": lambda _w, _n, r: getattr(rec.packet_of(r), "summary", ""),
    "origin": lambda _w, _n, r: ORIGINS[rec.kind_of(r)],
}


# Shorter words for them, as a line of a scenario has them.
SHORT = {"from": "source", "to": "target", "len": "length"}


def matches(world: World, names: Names, record: Record, wanted: Mapping[str, object]) -> bool:
    """Whether a record put a packet with all these facts on the cable."""
    if rec.kind_of(record) not in PACKETS:
        return False
    return all(
        fits(FACTS[SHORT.get(name, name)](world, names, record), value)
        for name, value in wanted.items()
    )
