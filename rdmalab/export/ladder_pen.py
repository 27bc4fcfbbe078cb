"""Drawing of the items of a ladder of text: arrows, labels, reasons, timers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdmalab.export import ladder_words as words
from rdmalab.export.ladder_canvas import SIGNS, Canvas, Ink, Slant, Stroke, draw
from rdmalab.export.ladder_columns import Columns, Gap, LadderRow, Placed, Room, fitting, ink_of
from rdmalab.render.meanings import APPEARANCES, Tone
from rdmalab.views import fmt
from rdmalab.views.columns import Meaning
from rdmalab.views.fates import Fate
from rdmalab.views.ladder import MarkerRow, PacketRow
from rdmalab.views.planned import PlannedKind, PlannedRow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rdmalab.export.ladder_canvas import Piece

_DIM, _NOW, _TIMER = Ink(Tone.DIM), Ink(Tone.EVENT, bold=True), ink_of(Meaning.WAITING)
_PLANNED = APPEARANCES[Meaning.PLANNED].word


class Pen(Columns):
    """Draws items on a canvas. brackets: the signs of timers, by row and column."""

    def __init__(self, rows: Sequence[LadderRow], room: Room) -> None:
        super().__init__(rows, room)
        self.brackets: dict[tuple[int, int], int] = {}

    # ---- the whole ------------------------------------------------------------------------------
    def draw(self, canvas: Canvas, placed: Sequence[Placed]) -> None:
        """Draw items: lifelines, arrows, what is written on them, reasons."""
        waits = [p for p in placed if isinstance(p.item, Gap | PlannedRow)]
        idle = {y for p in waits for y in range(p.y, p.bottom)}
        for y in range(canvas.top, canvas.top + len(canvas.rows)):
            self._lifelines(canvas, y, is_idle=y in idle)
        packets = [(p, p.item) for p in placed if isinstance(p.item, PacketRow)]
        tips = [self._arrow(canvas, p, row) for p, row in packets]
        for (p, row), tip in zip(packets, tips, strict=True):
            self._packet(canvas, p, row, tip)
        for p in placed:
            if isinstance(p.item, Gap):
                self._gap(canvas, p.y, p.item)
            elif isinstance(p.item, MarkerRow):
                self._marker(canvas, p, p.item)
            elif isinstance(p.item, PlannedRow):
                self._planned(canvas, p.y, p.item)
            if p.notes:
                self._write_notes(canvas, p)

    def canvas(self, height: int, top: int = 0) -> Canvas:
        """Rows to draw on, as wide as the ladder."""
        return Canvas(self.room.width, height, top, SIGNS if self.room.ascii_only else {})

    def header(self) -> list[Piece]:
        """The names of the columns, and of the nodes or their only queue pair."""
        canvas = self.canvas(1)
        canvas.put(1, 0, "time".rjust(words.TIME), _DIM)
        if self.shows_since:
            canvas.put(2 + words.TIME, 0, "since".rjust(words.SINCE), _DIM)
        for node, x in self.x.items():
            name = self.title.get(node) or node
            at = x + 2 - len(name) if x == self.right and len(name) > 2 else x - len(name) // 2
            canvas.put(max(self.margin, at), 0, name, _NOW)
        canvas.put(self.room.width - 5, 0, "event", _DIM)
        return canvas.line(0)

    def blank(self) -> list[Piece]:
        """A row in which nothing stands."""
        canvas = self.canvas(1, -1)
        self._lifelines(canvas, -1, is_idle=True)
        return canvas.line(-1)

    def _lifelines(self, canvas: Canvas, y: int, *, is_idle: bool) -> None:
        for x in self.x.values():
            canvas.put(x, y, self.glyphs.idle if is_idle else self.glyphs.life, _DIM)
            for column in (x - 1, x + 1):
                if (sign := self.brackets.get((y, column))) is not None:
                    canvas.put(column, y, self.glyphs.bracket[sign], _TIMER)

    def _stamp(self, canvas: Canvas, y: int, at_ns: int, since_ns: int | None, event: int) -> None:
        """The time of a row, how long after another time it is, and whether it is the present."""
        is_now = 0 <= event == self.room.now[0]
        canvas.put(0, y, self.glyphs.heads[1] if is_now else " ", _NOW)
        canvas.put(1, y, words.moment(at_ns).rjust(words.TIME), _NOW if is_now else _DIM)
        if self.shows_since and since_ns is not None and since_ns != at_ns:
            text = words.since(at_ns - since_ns).rjust(words.SINCE)
            canvas.put(2 + words.TIME, y, text, _DIM)

    def _event(self, canvas: Canvas, y: int, event: int | None, before: int = 0) -> None:
        """An event at the right; before: columns that are taken there."""
        if event is not None:
            text = f"→{event}" if before < 0 else f"ev {event}"
            x = self.room.width - len(text) - max(0, before)
            canvas.put(x, y, text, Ink(Tone.EVENT, click=("event", event)))

    def _name(self, canvas: Canvas, name: str, node: str, y: int) -> None:
        """A queue pair, at the outer side of the lifeline of its node."""
        if self.has_names and node in self.x:
            x, name = self.x[node], self.short(name)
            canvas.put(x + 2 if x == self.right else x - 1 - len(name), y, name, Ink())

    # ---- packets --------------------------------------------------------------------------------
    def _arrow(self, canvas: Canvas, placed: Placed, row: PacketRow) -> int:
        """The line of a packet, up to where it has come. Returns the column of its head."""
        x0, x1 = self.place(row.source), self.place(self.target(row))
        if x0 == x1:
            return self._loop(canvas, placed, row)
        slant, ink = self.slant(placed, row), ink_of(words.meaning(row))
        step = 1 if x1 > x0 else -1
        cells = max(2, round(slant.length * self._fraction(row)))
        if row.fate is Fate.LOST:  # in a flat line behind the label
            behind = max(cells, len(self.label(row, slant)) + 5)
            cells = min(slant.length - 2, behind) if self.is_flat else slant.bends[0]
        head = self.glyphs.cross if row.fate is Fate.LOST else self.glyphs.heads[step > 0]
        draw(canvas, (x0, placed.y), slant, cells, Stroke(self.glyphs, ink, head, step > 0))
        canvas.put(x0, placed.y, self.glyphs.dot, ink)
        if (means := _end_sign(row)) is not None:
            canvas.put(x1, placed.end, APPEARANCES[means].sign, ink_of(means))
        return x0 + step * cells

    def _loop(self, canvas: Canvas, placed: Placed, row: PacketRow) -> int:
        """A packet that a node sends to itself."""
        x, ink = self.place(row.source), ink_of(words.meaning(row))
        at_right = x == self.right
        text = fitting(words.flat_labels(row), (self.right - self.left) // 2, self.glyphs)
        way = self.glyphs.flat * (len(text) + 2)
        far = x - len(way) - 2 if at_right else x + len(way) + 2
        upper, lower = self.glyphs.corners[not at_right], self.glyphs.corners[2 + (not at_right)]
        for y in range(placed.y, placed.end + 1):
            canvas.put(far, y, upper if y == placed.y else self.glyphs.life, ink)
        for y in {placed.y, placed.end}:
            canvas.put(min(x, far) + 1, y, way + self.glyphs.flat, ink)
        canvas.put(min(x, far) + 2, placed.y, f" {text} ", ink._replace(bold=True))
        if placed.end > placed.y:
            canvas.put(far, placed.end, lower, ink)
        canvas.put(x - 1 if at_right else x + 1, placed.end, self.glyphs.heads[at_right], ink)
        canvas.put(x, placed.y, self.glyphs.dot, ink)
        if (means := _end_sign(row)) is not None:
            canvas.put(x, placed.end, APPEARANCES[means].sign, ink_of(means))
        return far

    def _fraction(self, row: PacketRow) -> float:
        """Part of its way that a packet has gone, 0 to 1."""
        if row.fate is Fate.LOST:
            return 0.5
        if row.fate is not Fate.IN_FLIGHT or row.arrives_ns is None:
            return 1.0
        gone = (self.room.now[1] - row.at_ns) / max(1, row.arrives_ns - row.at_ns)
        return max(0.0, min(1.0, gone))

    def _packet(self, canvas: Canvas, placed: Placed, row: PacketRow, tip: int) -> None:
        """Times, events and names at both ends, and what is written beside the line."""
        seen = canvas.seen()
        if placed.y not in seen and placed.end not in seen:
            return  # of many in flight most only pass these rows
        x0, x1 = self.place(row.source), self.place(self.target(row))
        flies = row.fate is Fate.IN_FLIGHT
        self._stamp(canvas, placed.y, row.at_ns, placed.before_ns, row.event)
        self._name(canvas, row.qp, row.source, placed.y)
        self._name(canvas, row.dest_qp, self.target(row), placed.end)
        if placed.end > placed.y and row.arrives_ns is not None:
            event = -1 if row.end_event is None else row.end_event
            self._stamp(canvas, placed.end, row.arrives_ns, placed.end_before_ns, event)
        shows_both = self.shows_both and row.end_event not in (None, row.event)
        self._event(canvas, placed.y, row.event, len(f"→{row.end_event}") if shows_both else 0)
        if shows_both:
            self._event(canvas, placed.y, row.end_event, -1)
        elif placed.end > placed.y:
            self._event(canvas, placed.end, row.end_event)
            if flies:
                canvas.put(self.room.width - len(_PLANNED), placed.end, _PLANNED, _DIM)
        if x0 != x1:
            self._label(canvas, placed, row, tip)

    def _label(self, canvas: Canvas, placed: Placed, row: PacketRow, tip: int) -> None:
        """Write the label on the line, and the facts beside it."""
        x0, slant = self.place(row.source), self.slant(placed, row)
        right = self.goes_right(row)
        text, ink = self.label(row, slant), ink_of(words.meaning(row))._replace(bold=True)
        begins = 1 if self.is_flat else slant.bends[0]
        x = x0 + 1 + begins if right else x0 - begins - len(text) - 2
        gap = 1 if self.is_flat or right else 0
        canvas.put(x, placed.y, " " * gap + text + " " * (gap if self.is_flat else not right), ink)
        if self.is_flat and row.fate is Fate.IN_FLIGHT:
            canvas.fade(placed.y, x, x + len(text) + 2, tip, to_right=right)
        if placed.end > placed.y:
            self._facts(canvas, placed, row, slant)

    def _facts(self, canvas: Canvas, placed: Placed, row: PacketRow, slant: Slant) -> None:
        """Beside the last part of the line: what the label does not say, and what completed."""
        x0, x1 = self.place(row.source), self.place(self.target(row))
        right, room = x1 > x0, slant.length - slant.bends[-1] - 3
        means = Meaning.FAILED if row.failed else Meaning.OK
        if text := self.outcome(row, len(slant.bends)):  # its sign stands at the lifeline
            x = x1 + 2 if right else x1 + slant.bends[-1] + 3
            canvas.put(x, placed.end, text, ink_of(means, ("event", row.end_event or 0)))
            room -= 0 if right else len(text) + 2
        is_cut = "psn=" not in self.label(row, slant)
        is_among = placed.crosses and not words.again(row)
        names = [f"psn={row.psn}"] if row.psn is not None and (is_cut or is_among) else []
        parts = [*words.spread(names + words.facts(row, room), room)]
        length = len("  ".join(parts))
        x = x0 + 2 if right else x0 - 1 - length
        if parts:  # no line of another packet is seen between the words
            canvas.put(x - (not right), placed.end, " " * (length + 1), _DIM)
        for part in parts:
            ink = _DIM if part not in words.again(row) else _TIMER
            if ink is _TIMER and row.first_event is not None:
                ink = ink._replace(click=("event", row.first_event))
            canvas.put(x, placed.end, part, ink)
            x += len(part) + 2

    # ---- everything else ------------------------------------------------------------------------
    def _gap(self, canvas: Canvas, y: int, gap: Gap) -> None:
        text = f" {fmt.duration(gap.wait_ns)} {'pass' if gap.is_past else 'to wait'} "
        span = self.right - self.left - 1
        dashes = self.glyphs.dash * max(2, (span - len(text)) // 4)
        text = f"{dashes}{text}{dashes}"
        canvas.put(self.left + 1 + (span - len(text)) // 2, y, text, _DIM)

    def _beside(self, canvas: Canvas, y: int, node: str, texts: list[str], ink: Ink) -> None:
        """The longest text that fits between the lifelines, at the side of its node."""
        right, at_right = self.right, self.place(node) == self.right
        if self.is_flat and not at_right:  # nothing else stands at the right one
            canvas.put(right, y, " ", ink)
            right = self.room.width - self.events
        text = fitting(texts, right - self.left - 3, self.glyphs)
        canvas.put(right - 1 - len(text) if at_right else self.left + 2, y, text, ink)

    def _marker(self, canvas: Canvas, placed: Placed, row: MarkerRow) -> None:
        self._stamp(canvas, placed.y, row.at_ns, placed.before_ns, row.event)
        self._event(canvas, placed.y, row.event)
        self._name(canvas, row.qp, row.node, placed.y)
        ink = _TIMER._replace(click=("event", row.event))
        self._beside(canvas, placed.y, row.node, words.timer(row, resent=placed.resent), ink)

    def _planned(self, canvas: Canvas, y: int, row: PlannedRow) -> None:
        self._stamp(canvas, y, row.at_ns, None, -1)
        self._name(canvas, row.qp, row.node, y)
        if row.plan in (PlannedKind.SEND, PlannedKind.ARRIVAL):
            self._expected(canvas, y, row)
        else:
            self._beside(canvas, y, row.node, words.planned(row), _DIM)
        canvas.put(self.room.width - len(_PLANNED), y, _PLANNED, _DIM)

    def _expected(self, canvas: Canvas, y: int, row: PlannedRow) -> None:
        """A packet that is not on its way yet, or whose departure is out of sight: dashed."""
        right = (self.place(row.node) == self.left) is (row.plan is PlannedKind.SEND)
        span = self.right - self.left - 1
        forms = [row.sentence, row.sentence.replace("a packet of ", "")]
        text = f" {fitting(forms, span - 5, self.glyphs)} "
        dashes = self.glyphs.dash * (span - len(text) - 2)
        near, head = self.glyphs.dash, self.glyphs.open_heads[right]
        line = near + text + dashes + head if right else head + dashes + text + near
        canvas.put(self.left + 1, y, line, _DIM)

    def _write_notes(self, canvas: Canvas, placed: Placed) -> None:
        """At the side of the node that says so."""
        row = placed.item
        widest = max(len(text) for text, _ in placed.notes)
        at_right = isinstance(row, PacketRow) and self.goes_right(row)
        x = max(self.left + 2, self.right - 1 - widest) if at_right else self.left + 2
        for n, (text, ink) in enumerate(placed.notes):
            y = placed.notes_at + n
            if self.is_flat:
                canvas.clear(self.flat_notes, y)
            else:  # apart from the lines that pass
                canvas.put(x - 1, y, " " * (len(text) + 2), ink)
            canvas.put(self.flat_notes if self.is_flat else x, y, text, ink)


def _end_sign(row: PacketRow) -> Meaning | None:
    """The sign where the arrow ends."""
    if row.fate in (Fate.REFUSED, Fate.DROPPED):
        return Meaning.REFUSED
    if row.fate is not Fate.RECEIVED:
        return None
    if row.failed or words.meaning(row) is Meaning.FAILED:
        return Meaning.FAILED
    return Meaning.OK if row.completed else None
