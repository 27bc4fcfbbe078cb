"""The wire: a ladder of packets and timers; find, filter, and the mark of one packet."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.binding import Binding, BindingType
from textual.content import Content

from rdmalab.export.ladder_columns import LadderRow, Room
from rdmalab.export.ladder_text import TextLadder, fitted
from rdmalab.spec.records import Kind
from rdmalab.tui.content import click, linked
from rdmalab.tui.filters import ascii_wanted
from rdmalab.tui.finding import PacketSearch
from rdmalab.tui.pane import read_all
from rdmalab.tui.scrolled import Scrolled
from rdmalab.views import fmt
from rdmalab.views.ladder import MarkerRow, PacketRow
from rdmalab.views.planned import PlannedRow, planned_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rdmalab.export.ladder_canvas import Piece
    from rdmalab.tui.world_view import WorldView

_LAST = 200  # rows of the past that are laid out for who looks back; further back: all
_HEADED = 9  # rows of the pane from which the columns have a heading
_TURN = 3  # rows that a turn of the wheel scrolls


def _key(key: str, action: str, label: str, text: str, *, show: bool = False) -> Binding:
    sign = "/" if key == "slash" else None
    return Binding(key, action, label, show=show, tooltip=text, key_display=sign)


class WirePane(Scrolled, can_focus=True, inherit_bindings=False):
    """marked: the record of the chosen item; None follows the newest. to_scale: rows follow time.

    follows: the name of the queue pair that alone is shown; empty for all of them.
    """

    COMMANDS, SWITCHES = "bf", "qtz"
    BINDINGS: ClassVar[list[BindingType]] = [
        _key("enter", "open", "Open", "The fields and bytes of the marked packet", show=True),
        _key("slash", "search('find')", "Find", "Find a text, opcode=ACK, psn >= 3", show=True),
        _key("f", "search('filter')", "Filter", "Show only what is found", show=True),
        _key("n", "next(1)", "Next", "The next packet that is found"),
        _key("N", "next(-1)", "Previous", "The previous packet that is found"),
        _key("R", "rewind", "Earlier", "Go back in time to an earlier packet that is found"),
        _key("q", "follow_pair", "One QP", "One queue pair alone; again: all", show=True),
        _key("t", "scale", "Scale", "To the scale of time; again: waits compressed", show=True),
        _key("b", "halt", "Break", "Halt at the next packet of this kind", show=True),
        _key("up,k", "move(-1)", "Up", "The packet before"),
        _key("down,j", "move(1)", "Down", "The packet after"),
        _key("pageup", "move(-8)", "Page up", "Eight packets back"),
        _key("pagedown", "move(8)", "Page down", "Eight packets on"),
        _key("home", "oldest", "Oldest", "The first packet, or the oldest one that is in memory"),
        _key("end", "newest", "Newest", "Follow the newest packet again"),
        _key("escape", "close", "Close", "End find or filter, then the mark, then leave"),
    ]

    def __init__(self, view: WorldView, *, id: str) -> None:  # noqa: A002 (Textual's word)
        super().__init__(view, id=id)
        self.border_title = "Wire"
        self.search = PacketSearch()
        self.marked: int | None = None
        self.follows = ""
        self.to_scale = False
        self.rows: list[LadderRow] = []
        self.ladder = TextLadder([], Room(80, 1, ["A", "B"]))
        self._marked_text = ""  # on another branch of time the record may be another packet
        self._marked_at = -1
        self._reads_back = False
        self._reads_all = False
        self._found: tuple[object, str, list[PacketRow | MarkerRow]] = (None, "", [])
        self._hint = ""
        self._seen: object = None
        self._owner = view.session

    @property
    def is_typing(self) -> bool:
        """Whether a find or a filter is typed."""
        return self.search.asks

    @property
    def is_begun(self) -> bool:
        """Whether there is a find, a filter, one queue pair alone, or a mark."""
        has_mark = self.marked is not None or self._reads_back
        return bool(self.search.text or self.follows or has_mark)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """No key of the pane while letters are text."""
        return not self.search.asks and super().check_action(action, parameters)

    @property
    def twin(self) -> str:
        """The command that prints the same rows."""
        return f"show wire last={self._last or max(20, len(self.rows))}"

    @property
    def _last(self) -> int:
        """Packets and timers that are read: more of them for who looks for one; 0 for all."""
        if self.search.is_on or self._reads_all:
            return 0
        reads_back = self.marked is not None or self._reads_back
        return _LAST if reads_back or self.follows else max(20, self.size.height)

    # ---- reading --------------------------------------------------------------------------------
    def read_rows(self) -> None:
        """Read the rows, and lay them out again if they differ."""
        world = self.view.session.world
        if self.marked is not None and not self.has_focus and world.event != self._marked_at:
            self._unmark()  # the newest packet is what the last command has sent
        if self._owner is not self.view.session:  # nothing of another world is kept
            self._owner, self.follows = self.view.session, ""
            self._unmark()
            self.search.end()
        rows: list[LadderRow] = [*self.view.wire(self._last), *self.view.ask(planned_rows)]
        now, is_asked = (world.event, world.now_ns), self.view.is_asked
        if is_asked:
            rows = [_unanswered(row) for row in rows if not isinstance(row, PlannedRow)]
        size = self.scrollable_content_region.size
        state = (rows, is_asked, now, size, self.to_scale, self.follows, self.search.shown)
        if state != self._seen and size.width:
            self._seen = state
            self._hint = "" if rows else self.view.view_of(self.twin).hint
            self.rows = self._wanted(rows, arrivals=False)
            nodes = list(world.nodes)
            room = Room(size.width, 1, nodes, now, ascii_wanted(), is_headed=self._is_headed)
            self.ladder = fitted(self.rows, room, size.height, to_scale=self.to_scale)
            if self.ladder.room.tall == 1:  # an arrow in one row has no row for its arrival
                self.rows = self._wanted(rows, arrivals=True)
                self.ladder = TextLadder(self.rows, self.ladder.room)
            passing = [row for row in self.rows if self.search.lets_pass(row, self._seen_text(row))]
            if len(passing) < len(self.rows):  # what is found is what was drawn
                self.rows = passing
                self.ladder = fitted(self.rows, room, size.height, to_scale=self.to_scale)
            self._redraw()

    @property
    def rows_drawn(self) -> int:
        """Rows of the drawing."""
        return self.ladder.height

    def _wanted(self, rows: Sequence[LadderRow], *, arrivals: bool) -> list[LadderRow]:
        """Without what a queue pair leaves out, and without planned arrivals of drawn packets.

        arrivals: with them; they have a row of their own where an arrow has only one.
        """
        numbers = (row.number for row in rows if isinstance(row, PacketRow) and not arrivals)
        drawn = set(numbers)
        found = [r for r in rows if not (isinstance(r, PlannedRow) and r.number in drawn)]
        if self.follows:
            found = [r for r in found if self.follows in (r.qp, getattr(r, "dest_qp", ""))]
        return found

    def _seen_text(self, row: LadderRow) -> str:
        """The text of a row as it is seen; of one that is far back only what it says itself."""
        if isinstance(row, PacketRow | MarkerRow) and row.number < self._drawn_from:
            return _own_text(row)
        lines = (self.ladder.line(number) for number in self.ladder.rows_of(row))
        return " ".join(text for line in lines for text, _ in line)

    @property
    def _hits(self) -> list[PacketRow | MarkerRow]:
        """The items that are found."""
        ladder, text, found = self._found
        if ladder is not self.ladder or text != self.search.text:
            found = [row for row in self._items if self.search.finds(row, self._seen_text(row))]
            self._found = (self.ladder, self.search.text, found)
        return found

    @property
    def _drawn_from(self) -> int:
        """The record from which on rows are found by all that is drawn of them.

        To draw all of 2,000 rows takes a second.
        """
        near = self.ladder.placed[-_LAST:][:1]
        return getattr(near[0].item, "number", 0) if near else 0

    def _redraw(self) -> None:
        self.redraw()
        title = f"Wire  {'to scale' if self.to_scale else 'waits compressed'} (t)"
        if self.border_title != title:
            self.border_title = title
        if (row := self._chosen) is not None:
            rows = self.ladder.rows_of(row)
            self.show_lines(rows.start, rows.stop)
        elif not self._reads_back:  # the newest row, and some of what is planned
            self.go_to(self._newest_top)

    @property
    def _is_headed(self) -> bool:
        return self.size.height >= _HEADED

    @property
    def _newest_top(self) -> int:
        """The first row that is seen where the newest packet and some of what is planned are."""
        past = self.ladder.past
        planned = min(self.ladder.height - past, max(1, self.body // 3))
        return max(0, past + planned - self.body)

    @property
    def below(self) -> int:
        """Rows of what has happened below those that are seen; 0 while the newest is followed."""
        if not self._reads_back and self.marked is None:
            return 0
        seen = self.size.height - self._is_headed - 1  # the last row says so
        return max(0, self.ladder.past - int(self.scroll_y) - seen)

    # ---- the mark -------------------------------------------------------------------------------
    @property
    def _items(self) -> list[PacketRow | MarkerRow]:
        return [row for row in self.rows if isinstance(row, PacketRow | MarkerRow)]

    @property
    def _chosen(self) -> PacketRow | MarkerRow | None:
        """The marked item; None if nothing is marked, or it is not shown."""
        return next((row for row in self._items if self._is_marked(row)), None)

    @property
    def _meant(self) -> PacketRow | None:
        """The marked packet; if nothing is marked the newest."""
        if (chosen := self._chosen) is not None:
            return chosen if isinstance(chosen, PacketRow) else None
        packets = [row for row in self._items if isinstance(row, PacketRow)]
        return packets[-1] if packets else None

    def _is_marked(self, row: LadderRow) -> bool:
        return row.number == self.marked and row.text == self._marked_text

    def _mark(self, row: PacketRow | MarkerRow) -> None:
        """Mark an item; a packet is also what the packet pane shows."""
        self.marked, self._marked_text = row.number, row.text
        self._marked_at = self.view.session.world.event
        self._reads_all = self._reads_all or self.search.is_on  # a mark outlives its search
        if isinstance(row, PacketRow):
            self.view.packet = row.number
        read_all(self.screen)
        self._redraw()

    def action_move(self, step: int) -> None:
        """Mark an item before or after the marked one; after the last one, follow the newest."""
        items, chosen = self._items, self._chosen
        at = items.index(chosen) if chosen is not None else len(items)
        if at + step < 0 and self._read_all():
            self.action_move(step)
            return
        if chosen is not None and step > 0 and at == len(items) - 1:
            self.action_newest()
        elif items:
            self._mark(items[max(0, min(len(items) - 1, at + step))])

    def _unmark(self) -> None:
        self.marked, self._reads_all = None, False

    def _read_all(self) -> bool:
        """Read all packets that are in memory; False if they are read."""
        was, self._reads_all = self._reads_all, True
        if not was:
            self.read_if_seen()
        return not was

    def action_oldest(self) -> None:
        """Mark the first packet."""
        self._read_all()
        if self._items:
            self._mark(self._items[0])

    def action_newest(self) -> None:
        """Take the mark away, and show the newest packet."""
        self._unmark()
        self._reads_back, self._seen = False, None
        self.read_if_seen()

    def action_open(self) -> None:
        """Show the fields of the marked packet, or of the newest; of a timer its event."""
        if (row := self._meant) is not None:
            self.view.packet = row.number
            self.act("packet", row.event)
        elif (timer := self._chosen) is not None:
            self.act("event", timer.event)

    def action_halt(self) -> None:
        """Set a breakpoint at packets of the marked one's kind."""
        if (row := self._meant) is not None:
            self.act("say", f"break wire.last.opcode == {row.label}")

    def action_scale(self) -> None:
        """Rows to the scale of time, or waits compressed."""
        self.to_scale = not self.to_scale
        self.read_if_seen()

    def action_follow_pair(self) -> None:
        """Show the queue pair of the marked packet alone, or all of them again."""
        row = self._chosen or self._meant
        self.follows = "" if self.follows or row is None else row.qp
        self.read_if_seen()

    # ---- find and filter ------------------------------------------------------------------------
    def action_search(self, use: str) -> None:
        """Ask for what shall be found (`find`) or shown alone (`filter`)."""
        self.search.ask(use)
        self._redraw()
        self.refresh_bindings()

    def action_next(self, step: int) -> None:
        """Mark the next packet that is found; after the last one, the first."""
        hits, chosen = self._hits, self._chosen
        on = [r for r in hits if chosen is not None and (r.number - chosen.number) * step > 0]
        if found := on or hits:
            self._mark(found[0] if step > 0 else found[-1])

    def action_rewind(self) -> None:
        """Go back to the packet before that is found: also to one that is not in memory."""
        if question := self.search.question:
            number = self.view.session.breakpoints.next_number
            self.act("say", "; ".join((f"break {question}", "rewind", f"delete {number}")))

    def on_key(self, event: events.Key) -> None:
        """While a find or a filter is typed, keys are its letters."""
        if not self.search.asks or not self.search.take(event.key, event.character):
            return
        event.stop()
        event.prevent_default()
        self.read_if_seen()
        if event.key == "enter" and self.search.mistake:  # the row may be too short for it
            self.notify(self.search.mistake, severity="warning")
        if event.key == "enter" and self.search.use == "find" and (hits := self._hits):
            self._mark(hits[-1])
        self._redraw()
        self.refresh_bindings()

    def action_close(self) -> None:
        """End one thing: find or filter, the queue pair, the mark; without any of them leave."""
        if self.search.end():
            pass
        elif self.follows:
            self.follows = ""
        elif self.marked is not None or self._reads_back:
            self.action_newest()
        else:
            self.act("leave")
        self.read_if_seen()
        self._redraw()

    # ---- the mouse ------------------------------------------------------------------------------
    def on_click(self, event: events.Click) -> None:
        """Mark the item; twice: open it. Events and reasons have actions of their own."""
        offset = event.get_content_offset(self)
        if offset is None or "@click" in event.style.meta:
            return
        if self.below and offset.y == self.size.height - 1:
            self.action_newest()
            return
        row = self.ladder.item(self.line_at(offset.y))
        if isinstance(row, PacketRow | MarkerRow):
            self._mark(row)
            if event.chain == 2:
                self.action_open()

    def text_select_all(self) -> None:
        """Nothing: two clicks open the packet."""

    @on(events.MouseScrollUp)
    @on(events.MouseScrollDown)
    def _turn(self, event: events.MouseEvent) -> None:
        """Read back: more of the past is loaded, and what comes does not move it; or read on."""
        event.stop()
        event.prevent_default()
        self.read_back(_TURN if isinstance(event, events.MouseScrollUp) else -_TURN)

    def read_back(self, rows: int) -> None:
        """Scroll by some rows towards the past; a negative number: towards the present.

        At the end, follow the newest packet again.
        """
        at_end = self._newest_top
        below = at_end - int(self.scroll_y) + rows
        if below <= 0:
            self.action_newest()
            return
        if not self._reads_back:
            self._reads_back, self.marked = True, None
            self.read_if_seen()  # more rows, above those that were seen
        if self._newest_top < below:
            self._read_all()
        self.go_to(self._newest_top - below)
        self.redraw()

    # ---- drawing --------------------------------------------------------------------------------
    @property
    def lines(self) -> int:
        """Rows of the ladder."""
        return self.ladder.height

    def line(self, number: int) -> Content:
        """A row of the ladder; where there is none, why."""
        if self.rows:
            return _content(self.ladder.line(number))
        hint = "no packet matches" if self.search.is_on or self.follows else self._hint
        return Content.styled(f"  {hint}" if number == 0 else "", "$dim")

    def heading(self) -> Content | None:
        """The names of the columns, where there is room."""
        return linked(_content(self.ladder.pen.header())) if self._is_headed else None

    def status(self) -> Content | None:
        """Matches of the search, the only queue pair that is shown, and rows below; None: none."""
        parts = [f"only {self.follows}, q: all"] if self.follows else []
        if self.search.is_on or self.search.asks:
            read = 0 if self.view.has_all_packets else len(self._items)
            parts.insert(0, self.search.found_text(len(self._hits), read))
        if below := self.below:
            parts.append(f"▼ {fmt.count(below, 'row')} below  End")
        text = f" {'  '.join(parts)}".ljust(self.scrollable_content_region.width)
        return Content.styled(text, "$on on $event") if parts else None

    def is_marked_at(self, number: int) -> bool:
        """Whether a row of the ladder belongs to the marked item."""
        item = self.ladder.item(number)
        return item is not None and self._is_marked(item)


def _content(pieces: list[Piece]) -> Content:
    styles = (f"{'bold ' * ink.bold}${ink.tone} {click(*ink.click) if ink.click else ''}"
              for _, ink in pieces)  # fmt: skip
    return Content.assemble(*zip((text for text, _ in pieces), styles, strict=True))


def _own_text(row: PacketRow | MarkerRow) -> str:
    """The row in one line, as `show wire` prints it."""
    if isinstance(row, MarkerRow):
        return f"{row.text} ev {row.event}"
    ends = f"→{row.end_event}" if row.end_event is not None else ""
    return f"{row.text} {row.fate_text} {row.remark} {row.qp} {row.dest_qp} ev {row.event}{ends}"


def _unanswered(row: LadderRow) -> LadderRow:
    """The row; of a timer that was armed without what is sent when it fires."""
    if isinstance(row, MarkerRow) and row.kind is Kind.TIMER_ARMED:
        return replace(row, psn=None)
    return row
