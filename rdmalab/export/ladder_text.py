"""The wire as a drawing: which row each packet, timer and wait has, and the lines of these rows.

Rows are placed for all that is shown, and drawn when they are asked for. Either each packet has
rows of its own and a long wait is one row, or the distance of rows follows time: then arrows cross.
"""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, NamedTuple

from rdmalab.export.ladder_columns import Gap, LadderRow, Placed, Room
from rdmalab.export.ladder_pen import Pen
from rdmalab.spec.records import Kind
from rdmalab.views.fates import Fate
from rdmalab.views.ladder import LONG_NS, MarkerRow, PacketRow
from rdmalab.views.planned import PlannedKind, PlannedRow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rdmalab.export.ladder_canvas import Piece

_TALL = (64, 10)  # columns and rows of the room from which a packet has two rows
_TALLER = (84, 20)  # from which it has three, if all packets have room
_AGO = 40  # times above a row, among which the one before it is looked for
_FLIGHT = 4  # rows that a usual flight takes to scale
_MOST_ROWS = 8  # to scale, a longer wait without an event is one row


class Chunk(NamedTuple):
    """Rows that are drawn together."""

    top: int
    bottom: int
    placed: list[Placed]


class TextLadder:
    """The drawing of some rows. height: its rows. placed: what stands in it, from top to bottom."""

    def __init__(self, rows: Sequence[LadderRow], room: Room, *, to_scale: bool = False) -> None:
        self.room = room
        self.pen = Pen(rows, room)
        self.placed: list[Placed] = []
        self.height = 0
        if to_scale:
            self._scale(rows)
        else:
            self._compress(rows)
        whole = [Chunk(0, self.height, self.placed)] if self.placed else []
        self.chunks = whole if to_scale else [Chunk(p.y, p.bottom, [p]) for p in self.placed]
        self._owner = [n for n, c in enumerate(self.chunks) for _ in range(c.top, c.bottom)]
        self._drawn: dict[int, list[list[Piece]]] = {}
        self.pen.brackets = self._brackets()

    def line(self, y: int) -> list[Piece]:
        """A row; below the last one the lifelines go on."""
        if not 0 <= y < self.height:
            return self.pen.blank()
        number = self._owner[y]
        if number not in self._drawn:
            self._drawn[number] = self._draw(self.chunks[number])
        return self._drawn[number][y - self.chunks[number].top]

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

    def _draw(self, chunk: Chunk) -> list[list[Piece]]:
        canvas = self.pen.canvas(chunk.bottom - chunk.top, chunk.top)
        self.pen.draw(canvas, chunk.placed)
        return [canvas.line(y) for y in range(chunk.top, chunk.bottom)]

    # ---- each packet has its rows ---------------------------------------------------------------
    def _compress(self, rows: Sequence[LadderRow]) -> None:
        shown: list[int] = []
        fired: dict[tuple[str, int], Placed] = {}
        now_ns = self.room.now[1]
        for row in rows:
            if _is_shown(row, fired):
                continue
            before = max((at_ns for at_ns in shown if at_ns <= row.at_ns), default=None)
            since = max(before or 0, now_ns) if shown and row.at_ns > now_ns else before
            if since is not None and row.at_ns - since > LONG_NS:
                self._add(Placed(Gap(row.at_ns - since, row.at_ns <= now_ns), 0, 0))
            placed = Placed(row, 0, 0, before, row.at_ns, notes=self.pen.notes(row))
            if isinstance(row, PacketRow):
                placed.end = 0 if row.fate is Fate.LOST else self.room.tall - 1
            self._add(placed)
            _note_timer(placed, fired)
            shown.append(row.at_ns)
            if isinstance(row, PacketRow) and self.room.tall > 1:
                shown.append(row.arrives_ns or row.at_ns)
            del shown[:-_AGO]

    def _add(self, placed: Placed) -> None:
        """Below all that is there."""
        placed.y, placed.end = self.height, self.height + placed.end
        placed.notes_at = placed.end + 1
        self.height = placed.bottom
        self.placed.append(placed)

    # ---- to scale -------------------------------------------------------------------------------
    def _scale(self, rows: Sequence[LadderRow]) -> None:
        """Each departure and each arrival has a row; between them are as many as the time asks."""
        fired: dict[tuple[str, int], Placed] = {}
        events: list[tuple[int, int, Placed]] = []
        for row in rows:
            if _is_shown(row, fired):
                continue
            placed = Placed(row, 0, -1, notes=self.pen.notes(row))
            _note_timer(placed, fired)
            events.append((row.at_ns, len(events), placed))
            if isinstance(row, PacketRow) and row.arrives_ns is not None:
                events.append((row.arrives_ns, len(events), placed))
        flights = [row.arrives_ns - row.at_ns for row in rows
                   if isinstance(row, PacketRow) and row.arrives_ns]  # fmt: skip
        unit = max(1.0, statistics.median(flights or [1_000]) / _FLIGHT)
        before: int | None = None
        begun: set[int] = set()
        for at_ns, _, placed in sorted(events, key=lambda event: event[:2]):
            self._wait(before, at_ns, unit)
            is_start = id(placed) not in begun
            begun.add(id(placed))
            self._mark(placed, at_ns, before, is_start=is_start)
            before = at_ns

    def _wait(self, before: int | None, at_ns: int, unit: float) -> None:
        """Rows for the time since the event before."""
        rows = 0 if before is None else round((at_ns - before) / unit) - 1
        if rows > _MOST_ROWS:
            gap = Placed(Gap(at_ns - (before or 0), at_ns <= self.room.now[1]), 0, 0)
            self._add(gap)
        else:
            self.height += max(0, rows)

    def _mark(self, placed: Placed, at_ns: int, before: int | None, *, is_start: bool) -> None:
        """A row for one end of a packet, or for a timer. The reasons stand below the last end."""
        row = placed.item
        has_end = isinstance(row, PacketRow) and row.arrives_ns is not None
        if is_start:
            placed.y, placed.before_ns = self.height, before
            self.placed.append(placed)
        if not is_start or not has_end:
            placed.end, placed.end_before_ns = self.height, before
            placed.notes_at = self.height + 1
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
            top = next((p.y for p in above if _starts(p.item, row)), -1)
            found.update({(y, x): 1 for y in range(top + 1, placed.y)})
            found[top, x], found[placed.y, x] = 0, 2
        return found


def fitted(
    rows: Sequence[LadderRow], room: Room, height: int, *, to_scale: bool = False
) -> TextLadder:
    """The drawing with as many rows a packet as `height` rows allow; `tall` of the room is chosen.

    To scale a packet has two rows at least.
    """
    if room.width < _TALL[0] or (height < _TALL[1] and not to_scale):
        return TextLadder(rows, room._replace(tall=1))
    if not to_scale and room.width >= _TALLER[0] and height >= _TALLER[1]:
        found = TextLadder(rows, room._replace(tall=3))
        if found.height < height:
            return found
    return TextLadder(rows, room._replace(tall=2), to_scale=to_scale)


def _is_future(item: LadderRow | Gap) -> bool:
    return isinstance(item, Gap) and not item.is_past


def _note_timer(placed: Placed, fired: dict[tuple[str, int], Placed]) -> None:
    row = placed.item
    if isinstance(row, MarkerRow) and row.kind is Kind.TIMER_FIRED:
        fired[row.qp, row.event] = placed


def _is_shown(row: LadderRow, fired: dict[tuple[str, int], Placed]) -> bool:
    """Whether the row of a timer that fired says it, too: a queue pair went back."""
    if not isinstance(row, MarkerRow) or row.kind is not Kind.WENT_BACK:
        return False
    timer = fired.get((row.qp, row.event))
    if timer is not None:
        timer.resent = True
    return timer is not None


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
