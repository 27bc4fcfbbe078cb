"""Compares the wire lines of a step with the packets that were sent."""

from collections.abc import Mapping
from typing import Any

from rdmalab.command import NotUnderstood
from rdmalab.scenario import wire
from rdmalab.scenario.wire import Expected, Lines, Seen, WireLine
from rdmalab.spec.refusals import Syndrome
from rdmalab.views import fmt
from rdmalab.views.fates import Fate


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
            if isinstance(line, wire.Skip):
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
        value = packet.fact(wire.SHORT_KEYS.get(key, key))
        if value is not None:
            parts.append(f"{key}={_said(value)}")
    parts += [name for name, origin in wire.ORIGINS.items() if origin is row.origin]
    parts += [has.partition(" ")[0] for has in row.troubles]
    parts += [name for name, fate in wire.FATES.items() if fate is row.fate]
    return f"{' '.join(parts)}  [ev {row.event}, {fmt.clock(row.at_ns)}]"


def _said(value: Any) -> str:
    if isinstance(value, Syndrome):
        return value.name
    return value if isinstance(value, str) else fmt.number(int(value))


def resolve(lines: Lines, locate: wire.Locate, with_key: wire.WithKey) -> dict[Expected, object]:
    """The value of every field, with names resolved; raises NotUnderstood for an unknown one."""
    values: dict[Expected, object] = {}
    for line in lines:
        for field in line.fields if isinstance(line, WireLine) else ():
            values[field] = _resolved(field, locate, with_key)
    return values


def _resolved(field: Expected, locate: wire.Locate, with_key: wire.WithKey) -> object:
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
