"""The plan of a ladder drawing: which records are drawn, and in which row each stands.

Rows follow the order of records, not a scale of time: an ACK timeout is 100,000 times as long as a
packet's way. Each row has its time, and a long wait is a row of its own.
"""

from collections.abc import Container, Iterable, Iterator
from dataclasses import field
from typing import NamedTuple

from rdmalab.render.meanings import APPEARANCES, Tone
from rdmalab.session.interruption import check
from rdmalab.session.names import Names
from rdmalab.spec import records as rec
from rdmalab.spec.records import Kind, Record, kind_of
from rdmalab.spec.row import dataclass
from rdmalab.views import fmt, record_text
from rdmalab.views.caption import meaning_of
from rdmalab.views.fates import Fate
from rdmalab.views.ladder import LONG_NS, PacketRow, packet_rows
from rdmalab.views.transit_effects import PACKETS
from rdmalab.world.trace import Records
from rdmalab.world.world import World

MOST_FIRST, MOST_LAST = 48, 16
"""Records at the beginning and at the end that are drawn if there are more."""
WHOLE = 500
"""Records of a drawing that a person asks for: a session of a lecture has all of them."""

_ARRIVALS = (Kind.PACKET_RECEIVED, Kind.PACKET_DROPPED)
_FAILURES = (
    Kind.REQUEST_REFUSED, Kind.PACKET_DROPPED, Kind.CQ_OVERRUN, Kind.ASYNC_RAISED, Kind.SRQ_FAILED,
    Kind.DEVICE_DIED, Kind.PROGRAM_FAILED, Kind.REFUSED, Kind.WINDOW_REFUSED,
)  # fmt: skip
_NOTED = (
    *_FAILURES, Kind.CQE_ADDED, Kind.STATE_CHANGED, Kind.TIMER_ARMED, Kind.TIMER_FIRED,
    Kind.WENT_BACK, Kind.CQ_EVENT_RAISED, Kind.PORT_CHANGED, Kind.MIGRATION_CHANGED,
    Kind.WINDOW_BOUND, Kind.WINDOW_INVALIDATED, Kind.MEMORY_FLUSHED, Kind.PROGRAM_RAN,
    Kind.PROGRAM_DONE,
)  # fmt: skip
_REASONS = {Kind.REQUEST_REFUSED: "refused", Kind.PACKET_DROPPED: "dropped"}


@dataclass(slots=True)
class Remark:
    """A sentence beside the line of a node. css: `bad`, `odd`, `good`, `program`, or empty."""

    node: str
    text: str
    css: str = ""


@dataclass(slots=True)
class PlannedRow:
    """One row. gap: the text of a row that stands for a wait, or for rows that are left out."""

    at_ns: int
    event: int
    remarks: list[Remark] = field(default_factory=list)
    gap: str = ""


@dataclass(slots=True)
class Arrow:
    """A packet on its way. start: the row where it left, None before the drawing begins.

    ends: node and row of each arrival; a packet of a multicast group may have several.
    """

    packet: PacketRow
    start: int | None = None
    ends: list[tuple[str, int]] = field(default_factory=list)


@dataclass(slots=True)
class LadderPlan:
    """Rows and arrows to draw. in_flight: the records of packets on the cable at its end."""

    nodes: list[str]
    rows: list[PlannedRow] = field(default_factory=list)
    arrows: list[Arrow] = field(default_factory=list)
    in_flight: list[int] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        return not self.rows

    @property
    def title(self) -> str:
        """`3 packets between A and B, 100 ns to 2.215 us`."""
        between = " and ".join(self.nodes) if len(self.nodes) < 3 else ", ".join(self.nodes)
        first, last = self.rows[0].at_ns, self.rows[-1].at_ns
        span = f"{fmt.clock(first)} to {fmt.clock(last)}" if first != last else fmt.clock(first)
        return f"{fmt.count(len(self.arrows), 'packet')} between {between}, {span}"

    def lines(self) -> Iterator[str]:
        """The drawing in words, a line for each packet and each remark."""
        leaving = {arrow.start: arrow for arrow in self.arrows if arrow.start is not None}
        arriving = [(row, node, arrow) for arrow in self.arrows for node, row in arrow.ends]
        for number, row in enumerate(self.rows):
            if row.gap:
                yield f"… {row.gap}"
            if number in leaving:
                yield _words(leaving[number].packet)
            for at, node, arrow in arriving:
                if at == number:
                    yield f"{fmt.clock(row.at_ns)} {node} receives {arrow.packet.short}"
            yield from (f"{fmt.clock(row.at_ns)} {each.text}" for each in row.remarks)


def _words(packet: PacketRow) -> str:
    ended = packet.fate is not Fate.RECEIVED or packet.troubles
    return f"{packet.text} ({packet.fate_text})" if ended else packet.text


def plan(
    world: World, names: Names, first: int, in_flight: Iterable[int] = (), most: int = 0
) -> LadderPlan:
    """The plan of all that happened since record `first`.

    in_flight: records before it that sent packets which were on the cable then. most: records
    that are drawn before some in the middle are left out; at least MOST_FIRST + MOST_LAST.
    """
    records = world.trace.records
    found = LadderPlan(sorted(world.nodes))
    chosen = _chosen(records, first, in_flight)
    begun = max(MOST_FIRST, most - MOST_LAST)
    numbers, left_out = _shortened(chosen.numbers, begun)
    kept = {n for n in numbers if n in chosen.packets}
    kept |= {rec.cause_of(records[n]) for n in numbers if _is_end(records[n], chosen.packets)}
    rows = {row.number: row for row in packet_rows(world, names, sorted(kept | chosen.open))}
    builder = _Builder(world, names, found, {n: rows[n] for n in sorted(kept)})
    for at, number in enumerate(numbers):
        check(at, len(numbers))
        if left_out and number == numbers[begun]:
            builder.skip(left_out)
        builder.add(number)
    found.arrows = list(builder.arrows.values())
    found.in_flight = [n for n in sorted(chosen.open) if rows[n].fate is Fate.IN_FLIGHT]
    return found


class _Chosen(NamedTuple):
    """The numbers of records to be drawn. packets: records that sent one; open: no end was seen."""

    numbers: list[int]
    packets: set[int]
    open: set[int]


def _chosen(records: Records, first: int, in_flight: Iterable[int]) -> _Chosen:
    """Records from `first` on that are drawn; a line that a program repeats only once."""
    found = _Chosen([], set(in_flight), set(in_flight))
    lines: dict[tuple[str, int], int] = {}
    for number in range(first, len(records)):
        record = records[number]
        kind = kind_of(record)
        if kind is Kind.PROGRAM_RAN:
            place, line = rec.place_of(record), rec.line_number_of(record)
            if lines.get(place) == line:
                continue
            lines[place] = line
        if kind in PACKETS:
            found.packets.add(number)
            found.open.add(number)
        elif kind is Kind.PACKET_LOST:
            found.open.discard(number - 1)
            continue
        is_end = _is_end(record, found.packets)
        if is_end:
            found.open.discard(rec.cause_of(record))
        if is_end or kind in PACKETS or kind in _NOTED:
            found.numbers.append(number)
    return found


def _shortened(numbers: list[int], begun: int) -> tuple[list[int], int]:
    left_out = len(numbers) - begun - MOST_LAST
    if left_out < 2:
        return numbers, 0
    return [*numbers[:begun], *numbers[-MOST_LAST:]], left_out


def _is_end(record: Record, packets: Container[int]) -> bool:
    """Whether it is the arrival of one of these packets."""
    return kind_of(record) in _ARRIVALS and rec.cause_of(record) in packets


class _Builder:
    """Puts records into rows, one after the other."""

    def __init__(
        self, world: World, names: Names, found: LadderPlan, packets: dict[int, PacketRow]
    ) -> None:
        self.world = world
        self.names = names
        self.rows = found.rows
        self.packets = packets
        self.arrows = {number: Arrow(packet) for number, packet in packets.items()}

    def skip(self, count: int) -> None:
        last = self.rows[-1]
        self.rows.append(PlannedRow(last.at_ns, -1, gap=f"{fmt.count(count, 'record')} left out"))

    def add(self, number: int) -> None:
        record = self.world.trace.records[number]
        kind = kind_of(record)
        if number in self.packets:
            self.arrows[number].start = self._row(record)
        elif _is_end(record, self.packets):
            self._arrive(record)
        if kind in _NOTED:
            self._note(record)

    def _arrive(self, record: Record) -> None:
        arrow, node = self.arrows[rec.cause_of(record)], rec.node_of(record)
        if node not in (there for there, _ in arrow.ends):  # one row for all QPs of a group
            arrow.ends.append((node, self._row(record)))

    def _row(self, record: Record) -> int:
        """A new row, after one for the wait if that is long."""
        at_ns, event = rec.at_ns_of(record), rec.event_of(record)
        if self.rows and at_ns - self.rows[-1].at_ns >= LONG_NS:
            wait = fmt.duration(at_ns - self.rows[-1].at_ns)
            self.rows.append(PlannedRow(self.rows[-1].at_ns, -1, gap=f"{wait} later"))
        self.rows.append(PlannedRow(at_ns, event))
        return len(self.rows) - 1

    def _note(self, record: Record) -> None:
        """A sentence in the row of the same event, or in a new one."""
        kind, node = kind_of(record), rec.node_of(record)
        if not self.rows or self.rows[-1].event != rec.event_of(record):
            self._row(record)
        self.rows[-1].remarks.append(Remark(node, self._sentence(record), _css(kind, record)))

    def _sentence(self, record: Record) -> str:
        kind = kind_of(record)
        subject = record_text.subject(self.names, record)
        if kind in _REASONS:
            return f"{subject}: {_REASONS[kind]}: {fmt.reason(rec.reason_of(record))}"
        text = record_text.sentence(self.world, self.names, record)
        if kind is Kind.PROGRAM_RAN:
            return f"{subject}: {rec.line_of(record)}"
        return f"{subject}: {text}" if subject else text


def _css(kind: Kind, record: Record) -> str:
    if kind in _FAILURES:
        return Tone.ODD if APPEARANCES[meaning_of(record)].tone is Tone.ODD else Tone.BAD
    if kind is Kind.CQE_ADDED:
        return "bad" if rec.cqe_of(record).status else "good"
    return "program" if kind is Kind.PROGRAM_RAN else ""
