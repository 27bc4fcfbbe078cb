"""The columns of a ladder of text, and how its items are cut to them.

Times stand at the left, then the lifelines of the nodes with the names of queue pairs beside them,
then events.
"""

from __future__ import annotations

import textwrap
from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

from rdmalab.export import ladder_words as words
from rdmalab.export.ladder_canvas import ASCII, UNICODE, Glyphs, Ink, Slant
from rdmalab.render.meanings import APPEARANCES
from rdmalab.spec.refusals import DROPS, REFUSALS
from rdmalab.spec.row import dataclass
from rdmalab.views.fates import Fate
from rdmalab.views.ladder import MarkerRow, PacketRow
from rdmalab.views.planned import PlannedRow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rdmalab.views.columns import Meaning


LadderRow = PacketRow | MarkerRow | PlannedRow

_ROOMY = 84  # columns from which completions stand behind the right lifeline
_OUTCOME = 14
_EVENT = 8  # columns of an event, or of `planned`, at least
_STEEPEST = 4  # cells that a line has in its first row at least
_LANE, _FLAT_LANE = 18, 26  # columns between two lifelines at least


class Room(NamedTuple):
    """Space for a ladder. tall: rows of a packet. now: the last event and its moment in ns.

    is_headed: whether a heading names the columns, and the queue pairs if there is one pair.
    """

    width: int
    tall: int
    nodes: Sequence[str]
    now: tuple[int, int] = (-1, 0)
    ascii_only: bool = False
    is_headed: bool = False


class Gap(NamedTuple):
    """A wait in which nothing happens."""

    wait_ns: int
    is_past: bool


Note = tuple[str, Ink]


@dataclass(slots=True)
class Placed:
    """An item, the rows where it begins and ends, and the rows of its reasons from `notes_at` on.

    before_ns, end_before_ns: the time from which both rows count. resent: a timer fired, and its
    queue pair went back. crosses: something else happened while the packet was on its way.
    """

    item: LadderRow | Gap
    y: int
    end: int
    before_ns: int | None = None
    end_before_ns: int | None = None
    notes_at: int = 0
    notes: list[Note] = field(default_factory=list)
    resent: bool = False
    crosses: bool = False

    @property
    def at_ns(self) -> int:
        """Time at which it begins, in ns."""
        return 0 if isinstance(self.item, Gap) else self.item.at_ns

    @property
    def arrives_ns(self) -> int | None:
        """Time in ns at which a packet arrived, or will; None if nothing arrives."""
        return self.item.arrives_ns if isinstance(self.item, PacketRow) else None

    @property
    def bottom(self) -> int:
        """The first row below it."""
        return max(self.end + 1, self.notes_at + len(self.notes) if self.notes else 0)


class Columns:
    """Positions of the columns. x: the column of the lifeline of each node."""

    def __init__(self, rows: Sequence[LadderRow], room: Room) -> None:
        self.room = room
        self.glyphs: Glyphs = ASCII if room.ascii_only else UNICODE
        width, self.is_flat = room.width, room.tall == 1
        packets = [row for row in rows if isinstance(row, PacketRow)]
        pairs = {frozenset((row.qp, row.dest_qp)) for row in packets if row.qp}
        self.shows_since = width >= 64
        self.x = dict.fromkeys(room.nodes, 0)
        self.margin = 2 + words.TIME + (words.SINCE + 1 if self.shows_since else 0)
        self.flat_notes = 3 + words.TIME  # where reasons begin if a packet has one row
        is_wide = self.is_flat and self.shows_since
        is_one = len(pairs) < 2
        is_spared = is_one and room.is_headed
        self._lay_out(rows, has_names=not is_one or (is_wide and not is_spared), both=is_wide)
        # Without a PSN no ACK is matched to its request: names and events give way first.
        if is_wide and self.has_names and is_one and not self._has_room_for(packets):
            self._lay_out(rows, has_names=False, both=True)
        if is_wide and not self._has_room_for(packets):
            self._lay_out(rows, has_names=self.has_names, both=False)
        only = packets[0] if len(pairs) == 1 and not self.has_names else None
        self.title = {only.source: only.qp, only.target: only.dest_qp} if only else {}

    def _lay_out(self, rows: Sequence[LadderRow], *, has_names: bool, both: bool) -> None:
        """The columns. has_names: queue pairs stand in each row. both: a row has both events."""
        packets = [row for row in rows if isinstance(row, PacketRow)]
        self.has_names, self.shows_both = has_names, both
        names = [name for row in packets for name in (row.qp, row.dest_qp)]
        longest = max((len(self.short(name)) for name in names), default=0)
        gutter = longest + 1 if has_names and longest else 0
        digits = len(str(max((r.event for r in rows if not isinstance(r, PlannedRow)), default=0)))
        self.events = max(_EVENT, 4 + digits + (digits + 1) * both)
        self.behind = _OUTCOME if not self.is_flat and self.room.width >= _ROOMY else 0
        left = self.margin + gutter + 1
        span = max(4, self.room.width - 1 - gutter - self.behind - self.events - left)
        lanes = self._lanes(rows, span)
        self.x = {node: left + span * n // max(1, len(lanes) - 1) for n, node in enumerate(lanes)}
        self.left, self.right = min(self.x.values()), max(self.x.values())

    def _has_room_for(self, packets: Sequence[PacketRow]) -> bool:
        """Whether each packet can be named with its PSN on its line."""
        lane = (self.right - self.left) // max(1, len(self.x) - 1) - 1
        return all(len(words.least_label(row)) + _taken(row) <= lane for row in packets)

    def _lanes(self, rows: Sequence[LadderRow], span: int) -> list[str]:
        """The nodes that have a lifeline, left to right: those that did something, two at least."""
        used: set[str] = set()
        for row in rows:
            used |= {row.source, row.target} if isinstance(row, PacketRow) else {row.node}
        nodes = sorted(self.room.nodes, key=lambda node: node not in used)
        most = 1 + span // (_FLAT_LANE if self.is_flat else _LANE)
        return sorted(nodes[: max(2, min(len(used - {""}), most))])

    def short(self, name: str) -> str:
        """A name without its node, if the header names the nodes."""
        node, _, rest = name.rpartition(".")
        return name if (self.is_flat and self.shows_since) or node not in self.x else rest

    def place(self, node: str) -> int:
        """The column of its lifeline, or of the first one."""
        return self.x.get(node, self.left)

    def target(self, row: PacketRow) -> str:
        """The node its arrow goes to; another one if no node has the address."""
        others = [node for node in self.x if node != row.source]
        return row.target if row.target in self.x else others[0]

    def goes_right(self, row: PacketRow) -> bool:
        """Whether the head of its arrow is at the right."""
        return self.place(self.target(row)) > self.place(row.source)

    def bracket_column(self, node: str) -> int | None:
        """Column in which the timers of a node are drawn, at the outer side of its lifeline."""
        if node not in self.x:
            return None
        return self.x[node] + (1 if self.x[node] == self.right else -1)

    # ---- reasons --------------------------------------------------------------------------------
    def notes(self, row: LadderRow | Gap, rows: int) -> list[Note]:
        """The rows below an item of so many: the whole reason, and completions that failed."""
        found: list[Note] = []
        if isinstance(row, PlannedRow | Gap):
            return found
        is_named = self.is_flat or not self.has_names  # above it
        if isinstance(row, PacketRow) and (reason := words.reason(row, brief=is_named)):
            found += self._folded(reason, ink_of(words.meaning(row), _reason_click(row)))
        forms, means = words.outcome(row)
        is_shown = not self.is_flat and isinstance(row, PacketRow) and self.outcome(row, rows)
        if row.failed and not is_shown:
            event = row.end_event if isinstance(row, PacketRow) else row.event
            text = fitting(forms, self.right - self.left - 5, None)
            sign = APPEARANCES[means].sign
            found += self._folded(f"{sign} {text}", ink_of(means, ("event", event or 0)))
        return found

    def _folded(self, text: str, ink: Ink) -> list[Note]:
        room = self.right - self.left - 3
        room = self.room.width - self.flat_notes if self.is_flat else room
        lines = textwrap.wrap(text, max(12, room), subsequent_indent="  ", break_on_hyphens=False)
        return [(line, ink) for line in lines]

    # ---- lines and labels ----------------------------------------------------------------------
    def slant(self, placed: Placed, row: PacketRow) -> Slant:
        """The line: in its first row it is shorter if the label needs the room."""
        span = abs(self.place(self.target(row)) - self.place(row.source)) - 1
        rows = placed.end - placed.y + 1
        if row.fate is Fate.LOST and not self.is_flat:
            rows = max(2, rows)
        return _bends(span, rows, len(words.label(row)))

    def label(self, row: PacketRow, slant: Slant) -> str:
        """The longest form that has room beside the line, or within it."""
        is_lost = row.fate is Fate.LOST
        taken = _taken(row) if self.is_flat else slant.bends[0] + 2
        forms = words.flat_labels(row) if self.is_flat or is_lost else words.labels(row)
        return fitting(forms, slant.length - taken, self.glyphs)

    def outcome(self, row: PacketRow, rows: int) -> str:
        """The completions of its arrival if they have room beside the head of the arrow."""
        room = self.behind - 1
        if not self.goes_right(row):
            span = self.place(row.source) - self.left - 1
            slant = _bends(span, rows, len(words.label(row)))
            room = slant.length - slant.bends[-1] - 3
        return next((text for text in words.outcome(row)[0] if len(text) <= room), "")


# --------------------------------------------------------------------------- helpers
def _taken(row: PacketRow) -> int:
    """Columns of a flat line beside its label: the dot, the head, and where a lost packet ends."""
    return 8 if row.fate is Fate.LOST else 4


def ink_of(means: Meaning, click: tuple[str, str | int] | None = None) -> Ink:
    """The ink of a meaning."""
    appearance = APPEARANCES[means]
    return Ink(appearance.tone, appearance.bold, click)


def fitting(texts: Sequence[str], room: int, glyphs: Glyphs | None) -> str:
    """The first text that fits; the last one is cut, without glyphs it stays whole."""
    found = next((text for text in texts if len(text) <= room), None)
    if found is not None or glyphs is None:
        return found or texts[-1]
    return texts[-1][: max(0, room - 1)] + glyphs.ellipsis


def _bends(span: int, rows: int, label: int) -> Slant:
    """A line over some rows; in its first row it leaves room for a label of so many columns."""
    if rows == 1:
        return Slant((span,))
    first = max(1, min(span // rows, max(_STEEPEST, span - label - 2)))
    rest, n = span - first, rows - 1
    return Slant((first, *((k + 1) * rest // n - k * rest // n for k in range(n))))


def _reason_click(row: PacketRow) -> tuple[str, str | int]:
    """Its word in `explain`; of a loss, and of bytes that are no packet, the event."""
    if row.fate is Fate.DROPPED and row.reason in DROPS:
        return "explain", f"drop {row.reason}"
    if row.reason in REFUSALS:
        return "explain", f"refusal {row.reason}"
    return "event", row.event if row.end_event is None else row.end_event
