"""One packet decoded: layers, fields, bits and bytes."""

from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from itertools import islice

from rdmalab.spec.opcodes import OPCODES
from rdmalab.spec.records import Kind, at_ns_of, event_of, injection_of, kind_of, node_of, packet_of
from rdmalab.spec.refusals import CLASS_MASK, VALUE_MASK, Syndrome
from rdmalab.spec.timers import RNR_NS
from rdmalab.views import fmt, occurrences
from rdmalab.views.transit_effects import PACKETS
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
    if not 0 <= number < len(records) or kind_of(records[number]) not in CARRIES:
        return None
    record = records[number]
    packet: Packet | Frame = packet_of(record)
    source, target = fmt.ends_of(world, packet)
    if kind_of(record) is Kind.PACKET_INJECTED:
        source, target = node_of(record), injection_of(record).target
    text = f"{source or '?'}->{target or '?'} {fmt.packet_words(packet)}"
    event, at_ns = event_of(record), at_ns_of(record)
    injected = kind_of(record) is Kind.PACKET_INJECTED
    raw = injection_of(record).octets if injected else octets_of(packet)
    return DecodedRow(number, event, at_ns, text, layer_rows(packet), raw)


def of_event(world: World, event: int) -> DecodedRow | None:
    """The packet that an event sent or received; None where there is none."""
    records = world.trace.records
    for number in records.span(event):
        if kind_of(records[number]) in CARRIES:
            return decoded_row(world, number)
    return None


def last_event(world: World) -> int | None:
    """The newest event that put a packet on the cable, if one of the last REACH records did."""
    newest = islice(reversed(world.trace.records), occurrences.REACH)
    sent = (record for record in newest if kind_of(record) in PACKETS)
    return next((int(event_of(record)) for record in sent), None)


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
            row.text = _field_text(name, row.name, row.value)
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
            FieldRow(field, value, bits, at, _field_text(name, field, value))
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
    ("Ethernet", "dst"): _mac,
    ("Ethernet", "src"): _mac,
    ("IPv4", "tos"): _traffic_class,
    ("IPv6", "traffic_class"): _traffic_class,
    ("IPv4", "src"): lambda value: str(IPv4Address(value)),
    ("IPv4", "dst"): lambda value: str(IPv4Address(value)),
    ("IPv6", "src"): lambda value: str(IPv6Address(value)),
    ("IPv6", "dst"): lambda value: str(IPv6Address(value)),
    ("GRH", "sgid"): lambda value: str(IPv6Address(value)),
    ("GRH", "dgid"): lambda value: str(IPv6Address(value)),
    ("LRH", "lnh"): _lnh,
    ("LRH", "packet_length"): lambda value: f"{value} ({4 * value} B)",
    ("ARP", "sender_mac"): _mac,
    ("ARP", "target_mac"): _mac,
    ("ARP", "sender_ip"): lambda value: str(IPv4Address(value)),
    ("ARP", "target_ip"): lambda value: str(IPv4Address(value)),
    ("TCP", "flags"): hex,
    ("BTH", "opcode"): _opcode,
    ("BTH", "dest_qp"): hex,
    ("DETH", "src_qp"): hex,
    ("XRCETH", "srqn"): hex,
    ("AETH", "syndrome"): _syndrome,
}


def _field_text(layer: str, field: str, value: int | bytes) -> str:
    if isinstance(value, bytes):
        return f"{len(value)} B"
    if (say := _BY_FIELD.get((layer, field))) is not None:
        return say(value)
    return hex(value) if field in _HEX else str(value)
