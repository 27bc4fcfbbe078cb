"""Expected packets: one line each, compared with the rows of the ladder."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rdmalab.command import NotUnderstood, Region, Span, Thing
from rdmalab.grammar.hints import quoted, suggest
from rdmalab.grammar.quantities import whole
from rdmalab.grammar.values import readings
from rdmalab.hca.objects import MemoryRegion, MemoryWindow
from rdmalab.spec.opcodes import PACKETS
from rdmalab.spec.records import Record, packet_of
from rdmalab.spec.refusals import SYNDROMES, Syndrome
from rdmalab.spec.row import dataclass
from rdmalab.views import fmt
from rdmalab.views.fates import Fate
from rdmalab.views.ladder import PacketRow
from rdmalab.views.packets import FACTS, SHORT
from rdmalab.views.transit_effects import Origin
from rdmalab.wire.frame import Frame
from rdmalab.wire.packet import LidFlow, Packet

Locate = Callable[[str], Region]
"""Resolves `B.mr0[100]`; raises NotUnderstood for an unknown name."""

WithKey = Callable[[Thing], MemoryRegion | MemoryWindow]
"""Finds a region or a window by its number."""

Value = int | str | frozenset[Syndrome]
SKIP = "skip"
FATES = {"lost": Fate.LOST, "dropped": Fate.DROPPED}
ORIGINS = {origin.name.lower(): origin for origin in Origin if origin is not Origin.SENT}
_TROUBLES = ("corrupted", "marked", "delayed", "held")
_PLAIN = (*FATES, *ORIGINS, *_TROUBLES)
_FLAGS = ("ack_req", "solicited", "mig_req")
_ENDS = re.compile(r"([A-Z])->([A-Z])", re.ASCII)
_PIECE = re.compile(r"\S+")
_NAME = re.compile(r"[A-Z]\.[A-Za-z_]\w*(\[\d+\])?", re.ASCII)
_BARE_NAME = re.compile(r"[A-Za-z_]\w*(\[\d+\])?", re.ASCII)
_QP_NAME = re.compile(r"[A-Z]\.[A-Za-z_]\w*", re.ASCII)


def _atomic(field: str) -> Callable[[Packet | Frame], int | None]:
    def fact(packet: Packet | Frame) -> int | None:
        header = packet.atomiceth if field != "original" else packet.atomicacketh
        value: int | None = getattr(header, field, None)
        return value

    return fact


def _inside(field: str) -> Callable[[Packet | Frame], int | None]:
    """A field of the TCP or UDP header of a frame."""

    def fact(packet: Packet | Frame) -> int | None:
        transport = packet.inside.transport if isinstance(packet, Frame) else None
        value: int | None = getattr(transport, field, None)
        return value

    return fact


# What the ladder does not show of a packet.
_MORE: dict[str, Callable[[Packet | Frame], object]] = {
    "compare": _atomic("compare"),
    "swap_add": _atomic("swap_add"),
    "original": _atomic("original"),
    "src_port": _inside("sport"),
    "dst_port": _inside("dport"),
    "seq": _inside("seq"),
    "dropped": lambda _packet: None,
}
SHORT_KEYS = {**SHORT, "imm": "imm_data", "swap": "swap_add", "add": "swap_add"}
_UNASKED = ("event", "at_ns", "source", "target", "from", "to", "opcode", "dropped", "summary",
            "origin")  # fmt: skip
KEYS = tuple(key for key in (*FACTS, *_MORE, *SHORT_KEYS) if key not in _UNASKED)


@dataclass(frozen=True, slots=True)
class Expected:
    """One value: a number, a flag, syndromes, or a name that the run resolves."""

    key: str
    value: Value
    text: str
    place: Span

    @property
    def fact(self) -> str:
        return SHORT_KEYS.get(self.key, self.key)


@dataclass(frozen=True, slots=True)
class WireLine:
    """A packet that must be on the cable.

    fate: default: not lost. origin: default: sent by a port. troubles: faults applied to it;
    default: any.
    """

    text: str
    source: str
    target: str
    opcode: str
    fields: tuple[Expected, ...]
    fate: Fate | None = None
    origin: Origin = Origin.SENT
    troubles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Skip:
    """Any number of packets, none included."""

    text: str = SKIP


Lines = list[WireLine | Skip]


# --------------------------------------------------------------------------- reading a line
def parse_wire(text: str) -> WireLine | Skip:
    """`A->B SEND_ONLY psn=0 len=64 ack_req=1 lost`; NotUnderstood with the column."""
    pieces = [(m[0], Span(m.start(), m.end())) for m in _PIECE.finditer(text)]
    if [piece for piece, _ in pieces] == [SKIP]:
        return Skip()
    first, place = pieces[0]
    ends = _ENDS.fullmatch(first)
    if ends is None:
        raise NotUnderstood(f"{quoted(first)} is not a direction", place, "write A->B, or skip")
    if len(pieces) == 1:
        raise NotUnderstood("the opcode is missing", place, f"write {first} SEND_ONLY")
    opcode = _opcode(*pieces[1])
    plain = [piece for piece, _ in pieces[2:] if piece in _PLAIN]
    fields = _fields([(piece, where) for piece, where in pieces[2:] if piece not in _PLAIN])
    fate = next((FATES[piece] for piece in reversed(plain) if piece in FATES), None)
    origin = next((ORIGINS[piece] for piece in plain if piece in ORIGINS), Origin.SENT)
    troubles = tuple(piece for piece in plain if piece in _TROUBLES)
    return WireLine(text, ends[1], ends[2], opcode, fields, fate, origin, troubles)


def _fields(pieces: list[tuple[str, Span]]) -> tuple[Expected, ...]:
    fields: dict[str, Expected] = {}
    for piece, where in pieces:
        field = _expected(piece, where)
        if field.fact in fields:
            raise NotUnderstood(f"{field.key} is given twice", where, "leave one out")
        fields[field.fact] = field
    return tuple(fields.values())


def _opcode(text: str, place: Span) -> str:
    if text.upper() not in PACKETS:
        raise NotUnderstood(f"{quoted(text)} is no opcode", place,
                            suggest(text.upper(), PACKETS))  # fmt: skip
    return text.upper()


def _expected(piece: str, place: Span) -> Expected:
    key, equals, text = piece.partition("=")
    if key not in KEYS:
        where = Span(place.start, place.start + len(key))
        raise NotUnderstood(f"no field {quoted(key)}", where, suggest(key, (*KEYS, *_PLAIN)))
    where = Span(place.start + len(key) + len(equals), place.stop)
    if not text:
        raise NotUnderstood("a value is missing here", place, f"write {key}=1")
    return Expected(key, _value(SHORT_KEYS.get(key, key), text, where), text, where)


def _value(fact: str, text: str, place: Span) -> Value:
    if fact == "syndrome" and not text[0].isdecimal():
        named = next(
            (SYNDROMES[reading] for reading in readings(text) if reading in SYNDROMES), None
        )
        if named is None:
            hint = suggest(text.upper(), SYNDROMES)
            raise NotUnderstood(f"{quoted(text)} is no syndrome", place, hint)
        return named
    if fact in ("qp", "dest_qp"):
        if not _QP_NAME.fullmatch(text):
            raise NotUnderstood(f"{quoted(text)} is not a full name", place, "write B.qp0")
        return text
    if fact in ("rkey", "va") and _NAME.fullmatch(text):
        return text
    if fact in ("rkey", "va") and _BARE_NAME.fullmatch(text):
        raise NotUnderstood(f"{quoted(text)} has no node", place, f"write A.{text} or B.{text}")
    number = whole(text, place=place)
    if fact in _FLAGS and number not in (0, 1):
        raise NotUnderstood(f"{quoted(text)} is neither 0 nor 1", place, "write 0 or 1")
    return number


# --------------------------------------------------------------------------- writing a line
_HEX = frozenset(("va", "rkey", "inv_rkey", "qkey", "imm_data", "ethertype"))
_SPARED = frozenset(("event", "at_ns", "source", "target", "opcode", "qp", "group", "summary",
                     "lost", "dropped", "origin"))  # fmt: skip
_ALWAYS = frozenset(("psn", "syndrome", "va", "rkey"))  # said though they are 0
_SPELLED = {"length": "len"}


def line_of(packet: "Seen") -> str:
    """The line that matches this packet with all its fields; `skip` if none can match."""
    row = packet.row
    if not row.target:
        return SKIP
    parts = [f"{row.source}->{row.target}", row.opcode]
    spared = _SPARED if _has_paths(packet.packet) else _SPARED | {"mig_req"}
    for name in (*FACTS, *_MORE):
        text = "" if name in spared else _spelled(name, packet.fact(name))
        parts += [f"{_SPELLED.get(name, name)}={text}"] if text else []
    parts += [name for name, origin in ORIGINS.items() if origin is row.origin]
    parts += [has.partition(" ")[0] for has in row.troubles]
    return " ".join(parts + [name for name, fate in FATES.items() if fate is row.fate])


def _has_paths(packet: Packet | Frame) -> bool:
    """Whether its port can have an alternate path; only then MigReq changes."""
    return isinstance(packet, Packet) and isinstance(packet.flow, LidFlow)


def _spelled(name: str, value: Any) -> str:
    """A value as `parse_wire` reads it, empty if it has none."""
    if value is None or (not value and name not in _ALWAYS):
        return ""
    if isinstance(value, Syndrome):
        return value.name
    if isinstance(value, str):
        return value if _QP_NAME.fullmatch(value) else ""
    return f"{value:#x}" if name in _HEX else str(int(value))


# --------------------------------------------------------------------------- comparing
@dataclass(frozen=True, slots=True)
class Seen:
    """A packet that was sent: its row in the ladder, and the packet itself."""

    row: PacketRow
    packet: Packet | Frame

    def fact(self, name: str) -> object:
        """The value of the field `psn`, `length`, `original`, …"""
        return _MORE[name](self.packet) if name in _MORE else getattr(self.row, name)


def seen(rows: list[PacketRow], records: Sequence[Record]) -> list[Seen]:
    """The rows with their packets."""
    return [Seen(row, packet_of(records[row.number])) for row in rows]


class Comparison:
    """The lines of a step and its packets. bad: the first line and packet that differ."""

    def __init__(self, lines: Lines, sent: list[Seen], values: Mapping[Expected, object]) -> None:
        self.lines = lines
        self.sent = sent
        self.values = values
        self.bad = self._walk()

    def _walk(self) -> tuple[int, int] | None:
        """None if all match; else the furthest line and packet that differ."""
        at_line = at_packet = 0
        retry: tuple[int, int] | None = None
        furthest = (0, 0)
        while at_packet < len(self.sent) or at_line < len(self.lines):
            line = self.lines[at_line] if at_line < len(self.lines) else None
            if isinstance(line, Skip):
                at_line += 1
                retry = (at_line, at_packet)
            elif line and at_packet < len(self.sent) and self._fits(line, self.sent[at_packet]):
                at_line, at_packet = at_line + 1, at_packet + 1
            else:
                furthest = max(furthest, (at_line, at_packet))
                if retry is None or retry[1] >= len(self.sent):
                    return furthest
                retry = (retry[0], retry[1] + 1)
                at_line, at_packet = retry
        return None

    def _fits(self, line: WireLine, packet: Seen) -> bool:
        row = packet.row
        same = (row.source, row.target, row.origin) == (line.source, line.target, line.origin)
        if not same or not row.opcode.is_called(line.opcode) or not _fate_fits(line.fate, row.fate):
            return False
        if any(not any(has.startswith(each) for has in row.troubles) for each in line.troubles):
            return False
        return all(_is_value(packet.fact(f.fact), self.values[f]) for f in line.fields)

    def expected_text(self) -> str:
        """The line that did not match."""
        assert self.bad is not None
        line = self.bad[0]
        return self.lines[line].text if line < len(self.lines) else "no more packets"

    def actual_text(self) -> str:
        """The actual packet, with the fields that the line names."""
        assert self.bad is not None
        line, packet = self.bad
        if packet >= len(self.sent):
            return "no more packets were sent"
        named = self.lines[line] if line < len(self.lines) else None
        fields = named.fields if isinstance(named, WireLine) else ()
        return _text(self.sent[packet], fields)


def _is_value(fact: object, wanted: object) -> bool:
    return fact in wanted if isinstance(wanted, frozenset) else bool(fact == wanted)


def _fate_fits(wanted: Fate | None, fate: Fate) -> bool:
    return fate is wanted if wanted is not None else fate is not Fate.LOST


def _text(packet: Seen, fields: tuple[Expected, ...]) -> str:
    row = packet.row
    named = [f.key for f in fields]
    facts = [f.fact for f in fields]
    named += ["len", "summary"] if row.psn is None and "length" not in facts else []
    named += [fact for fact in ("psn", "syndrome", "timer") if fact not in facts]
    parts = [f"{row.source}->{row.target or '?'}", row.opcode]
    for key in named:
        value = packet.fact(SHORT_KEYS.get(key, key))
        if value is not None:
            parts.append(f"{key}={_value_text(value)}")
    parts += [name for name, origin in ORIGINS.items() if origin is row.origin]
    parts += [has.partition(" ")[0] for has in row.troubles]
    parts += [name for name, fate in FATES.items() if fate is row.fate]
    return f"{' '.join(parts)}  [ev {row.event}, {fmt.clock(row.at_ns)}]"


def _value_text(value: Any) -> str:
    if isinstance(value, Syndrome):
        return value.name
    return value if isinstance(value, str) else fmt.number(int(value))


def resolve(lines: Lines, locate: Locate, with_key: WithKey) -> dict[Expected, object]:
    """The value of every field, with names resolved; raises NotUnderstood for an unknown one."""
    values: dict[Expected, object] = {}
    for line in lines:
        for field in line.fields if isinstance(line, WireLine) else ():
            values[field] = _resolved(field, locate, with_key)
    return values


def _resolved(field: Expected, locate: Locate, with_key: WithKey) -> object:
    if not isinstance(field.value, str):
        return field.value
    try:
        region = locate(field.value)
    except NotUnderstood as wrong:
        wrong.place = field.place
        raise
    if field.fact in ("qp", "dest_qp"):
        return field.value
    holder = with_key(region.thing)
    return holder.rkey if field.fact == "rkey" else holder.iova + (region.start or 0)
