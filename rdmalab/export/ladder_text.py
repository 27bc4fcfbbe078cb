"""The wire as a drawing: which row each packet, timer and wait has, and the lines of these rows.

Rows are placed for all that is shown, and drawn when they are asked for. A packet has one row, or
one for either end: then time never runs back, and arrows of packets in flight together cross. A
long wait is one row, or the distance of rows follows time.
"""

from __future__ import annotations

import itertools
import statistics
from typing import TYPE_CHECKING

from rdmalab.export.ladder_columns import Gap, LadderRow, Placed, Room
from rdmalab.export.ladder_pen import Pen
from rdmalab.spec.records import Kind
from rdmalab.views.fates import Fate
from rdmalab.views.ladder import LONG_NS, MarkerRow, PacketRow
from rdmalab.views.planned import PlannedKind, PlannedRow

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rdmalab.export.ladder_canvas import Piece

_TALL = (64, 10)  # columns and rows of the room from which a packet has two rows
_TALLER = (84, 20)  # from which it has three, if all packets have room
_CROSSING = 2  # packets in flight together that are drawn as crossing lines, at most
_BAND = 16  # rows that are drawn together
_FLIGHT = 4  # rows that a usual flight takes to scale
_MOST_ROWS = 8  # to scale, a longer wait without an event is one row


class TextLadder:
    """The drawing of some rows. height: its rows. placed: what stands in it, from top to bottom."""

    def __init__(self, rows: Sequence[LadderRow], room: Room, *, to_scale: bool = False) -> None:
        self.room = room
        self.pen = Pen(rows, room)
        self.placed: list[Placed] = []
        self.height = 0
        if room.tall > 1 or to_scale:
            self._in_order_of_time(rows, to_scale=to_scale)
        else:
            self._flat(rows)
        self._drawn: dict[int, list[list[Piece]]] = {}
        self.pen.brackets = self._brackets()

    def line(self, y: int) -> list[Piece]:
        """A row; below the last one the lifelines go on."""
        if not 0 <= y < self.height:
            return self.pen.blank()
        band, row = divmod(y, _BAND)
        if band not in self._drawn:
            self._drawn[band] = self._draw(band * _BAND)
        return self._drawn[band][row]

    def item(self, y: int) -> LadderRow | None:
        """Item in a row of the drawing; None for a wait."""
        here = [p for p in self.placed if p.y <= y < p.bottom] if 0 <= y < self.height else []
        nearest = min(here, key=lambda p: (y != p.y, y != p.end, y - p.y), default=None)
        return None if nearest is None or isinstance(nearest.item, Gap) else nearest.item

    def rows_of(self, row: LadderRow) -> range:
        """The rows of an item; empty if it is not shown."""
        found = next((p for p in self.placed if p.item is row), None)
        return range(found.y, found.bottom) if found else range(0)

    @property
    def past(self) -> int:
        """Rows of what has happened: those before the first planned one."""
        planned = (p.y for p in self.placed if isinstance(p.item, PlannedRow) or _is_future(p.item))
        return min(planned, default=self.height)

    def _draw(self, top: int) -> list[list[Piece]]:
        """A band of rows: of many packets in flight together only what passes these rows."""
        bottom = min(self.height, top + _BAND)
        canvas = self.pen.canvas(bottom - top, top)
        self.pen.draw(canvas, [p for p in self.placed if p.y < bottom and p.bottom > top])
        return [canvas.line(y) for y in range(top, bottom)]

    # ---- a row for each packet ------------------------------------------------------------------
    def _flat(self, rows: Sequence[LadderRow]) -> None:
        before: int | None = None
        for placed in self._shown(rows):
            self._wait(before, placed.at_ns)
            placed.before_ns, before = before, placed.at_ns
            placed.notes = self.pen.notes(placed.item, 1)
            self._add(placed)

    def _shown(self, rows: Sequence[LadderRow]) -> Iterator[Placed]:
        """The items, but no queue pair that went back if the row of its timer says so."""
        fired: dict[tuple[str, int], Placed] = {}
        for row in rows:
            placed = Placed(row, 0, 0)
            if isinstance(row, MarkerRow):
                timer = fired.get((row.qp, row.event))
                if row.kind is Kind.WENT_BACK and timer is not None:
                    timer.resent = True
                    continue
                if row.kind is Kind.TIMER_FIRED:
                    fired[row.qp, row.event] = placed
            yield placed

    def _add(self, placed: Placed) -> None:
        """Below all that is there."""
        placed.y, placed.end = self.height, self.height + placed.end
        placed.notes_at = placed.end + 1
        self.height = placed.bottom
        self.placed.append(placed)

    # ---- each packet has a row for either end ---------------------------------------------------
    def _in_order_of_time(self, rows: Sequence[LadderRow], *, to_scale: bool) -> None:
        """Departures and arrivals as they came, so that what was in flight together crosses.

        Compressed, a packet that nothing crosses has `tall` rows; to scale rows follow the time.
        """
        events: list[tuple[int, int, Placed]] = []
        for placed in self._shown(rows):
            for at_ns in (placed.at_ns, placed.arrives_ns):
                if at_ns is not None:
                    events.append((at_ns, len(events), placed))
        flights = [p.arrives_ns - p.at_ns for *_, p in events if p.arrives_ns]
        unit = max(1.0, statistics.median(flights or [1_000]) / _FLIGHT) if to_scale else None
        before: int | None = None
        last: Placed | None = None
        begun: set[int] = set()
        for at_ns, _, placed in sorted(events, key=lambda event: event[:2]):
            self._wait(before, at_ns, unit)
            is_start = id(placed) not in begun
            placed.crosses = not is_start and placed is not last
            if not (to_scale or is_start or placed.crosses):
                self.height += self.room.tall - 2
            self._mark(placed, before, is_start=is_start)
            begun.add(id(placed))
            before, last = at_ns, placed

    def _wait(self, before: int | None, at_ns: int, unit: float | None = None) -> None:
        """Rows for the time since the event before: `unit` ns each; None: a long wait has one."""
        if before is None:
            return
        now_ns = self.room.now[1]
        wait_ns = at_ns - (max(before, now_ns) if at_ns > now_ns else before)
        rows = round((at_ns - before) / unit) - 1 if unit else 0
        if rows > _MOST_ROWS or (unit is None and wait_ns > LONG_NS):
            self._add(Placed(Gap(wait_ns, at_ns <= now_ns), 0, 0))
        else:
            self.height += max(0, rows)

    def _mark(self, placed: Placed, before: int | None, *, is_start: bool) -> None:
        """A row for one end of a packet, or for a timer. The reasons stand below the last end."""
        if is_start:
            placed.y, placed.before_ns = self.height, before
            self.placed.append(placed)
        if not is_start or placed.arrives_ns is None:
            held = isinstance(placed.item, PacketRow) and placed.item.fate is not Fate.LOST
            self.height += is_start and held  # its arrow has a second row
            placed.end, placed.end_before_ns = self.height, before
            placed.notes_at = self.height + 1
            placed.notes = self.pen.notes(placed.item, self.height - placed.y + 1)
            self.height += len(placed.notes)
        self.height += 1

    # ---- brackets -------------------------------------------------------------------------------
    def _brackets(self) -> dict[tuple[int, int], int]:
        """The signs of timers beside the lifelines, by row and column: begin, between, end."""
        found: dict[tuple[int, int], int] = {}
        for at, placed in enumerate(self.placed):
            row = placed.item
            if not isinstance(row, MarkerRow | PlannedRow) or not _ends_timer(row):
                continue
            if (x := self.pen.bracket_column(row.node)) is None:
                continue
            above = reversed(self.placed[:at])
            top = next((p.y for p in above if _starts(p.item, row)), None)
            found.update({(y, x): 1 for y in range(0 if top is None else top, placed.y)})
            found[placed.y, x] = 2
            if top is not None:  # else the timer began above the first row
                found[top, x] = 0
        return found


def fitted(
    rows: Sequence[LadderRow], room: Room, height: int, *, to_scale: bool = False
) -> TextLadder:
    """The drawing with as many rows a packet as `height` rows allow; `tall` of the room is chosen.

    A packet has one row where many are in flight together: their lines and labels would cover each
    other. To scale it has two rows at least.
    """
    is_low = height < _TALL[1] or most_together(rows) > _CROSSING
    if room.width < _TALL[0] or (is_low and not to_scale):
        return TextLadder(rows, room._replace(tall=1))
    if not to_scale and room.width >= _TALLER[0] and height >= _TALLER[1]:
        found = TextLadder(rows, room._replace(tall=3))
        if found.height < height:
            return found
    return TextLadder(rows, room._replace(tall=2), to_scale=to_scale)


def most_together(rows: Sequence[LadderRow]) -> int:
    """The most packets that were in flight at the same time."""
    packets = [row for row in rows if isinstance(row, PacketRow) and row.arrives_ns is not None]
    ends = [(row.at_ns, 1) for row in packets] + [(row.arrives_ns or 0, -1) for row in packets]
    return max(itertools.accumulate(step for _, step in sorted(ends)), default=0)


def _is_future(item: LadderRow | Gap) -> bool:
    return isinstance(item, Gap) and not item.is_past


def _ends_timer(item: MarkerRow | PlannedRow) -> bool:
    if isinstance(item, MarkerRow):
        return item.kind is Kind.TIMER_FIRED
    return item.plan in (PlannedKind.ACK_TIMER, PlannedKind.RNR_TIMER)


def _starts(item: LadderRow | Gap, end: MarkerRow | PlannedRow) -> bool:
    """Whether the timer that ends there began with this item: an RNR NAK, or a packet sent."""
    is_ack = (
        end.plan is PlannedKind.ACK_TIMER if isinstance(end, PlannedRow) else end.reason == "ack"
    )
    if is_ack:
        return isinstance(item, PacketRow) and item.qp == end.qp and item.syndrome is None
    return isinstance(item, MarkerRow) and item.kind is Kind.TIMER_ARMED and item.qp == end.qp
