"""The wire: packets as arrows, timers, the future dashed; Enter decodes the marked packet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdmalab.shell import show_wire
from rdmalab.shell.styled_text import text_of
from rdmalab.shell.tables import DIM
from rdmalab.tui.pane import Pane, marked
from rdmalab.views.ladder import PacketRow
from rdmalab.views.packets import DecodedRow, decoded_row
from rdmalab.views.planned import PlannedRow

if TYPE_CHECKING:
    from rdmalab.shell.show_wire import LadderRow
    from rdmalab.shell.styled_text import Line
    from rdmalab.tui.pane import Appearance
    from rdmalab.tui.world_view import WorldView

_LAST = 200  # rows of the past that can be scrolled
_APART = 8  # rows that a packet taken apart has at least
_ROOMY = 18  # with so many rows the packet is taken apart below the list, always


class WirePane(Pane):
    """`marked`: the record of the chosen packet; None: the newest."""

    follows = True

    def __init__(self, name: str, stage: WorldView, look: Appearance) -> None:
        super().__init__(name, stage, look)
        self.marked: int | None = None
        self._marked_text = ""  # on another branch of time the record may be another packet
        self.opened = False

    def title(self) -> Line:
        """A label while one packet fills the pane, else empty."""
        if self.opened and not self._is_roomy(self.body_height):
            return [(DIM, "one packet")]
        return []

    def sentences(self) -> list[str]:
        """The `show wire` command with the number of rows."""
        reads_back = self.filter.pattern or self.marked is not None
        last = _LAST if reads_back else max(20, self.body_height)
        return [f"show wire last={last}"]

    def hint(self) -> str:
        """What Enter does now."""
        return "Enter: back" if self.opened else "Enter: take it apart"

    def action_inspect(self) -> None:
        """Show the headers of the marked packet, or all packets again."""
        self.opened = not self.opened
        self.top = 0 if self.opened else None
        self.redraw()

    def escape(self) -> bool:
        """Close the decoded packet; False if none was open."""
        was, self.opened, self.top = self.opened, False, None
        return was

    def on_blur(self) -> None:
        """Follow the newest packet again when another pane gets the focus."""
        if self.app.app_focus:
            self.marked = None

    def breakpoint(self) -> str:
        """A `break` command for the opcode of the marked packet; empty without a packet."""
        chosen = self._chosen(self.stage.look(self.sentences()[0]).rows)
        return f"break wire.last.opcode == {chosen.opcode}" if chosen is not None else ""

    # ---- the mark -------------------------------------------------------------------------------

    def action_move(self, rows: int) -> None:
        """Move the mark by `rows` packets; at the last one it follows the newest."""
        if self.opened and not self._is_roomy(self.body_height):
            super().action_move(rows)
            return
        packets = self._packets()
        if not packets:
            return
        at = next((n for n, row in enumerate(packets) if self._is_marked(row)), None)
        at = len(packets) - 1 if at is None else at
        at = max(0, min(len(packets) - 1, at + rows))
        self.marked = None if at == len(packets) - 1 and rows > 0 else packets[at].number
        self._marked_text = packets[at].text
        self.redraw()

    def _is_marked(self, row: PacketRow) -> bool:
        return row.number == self.marked and row.text == self._marked_text

    def _packets(self) -> list[PacketRow]:
        rows = self.stage.look(f"show wire last={_LAST}").rows
        return [row for row in rows if isinstance(row, PacketRow) and self._is_wanted(row)]

    def _is_wanted(self, row: LadderRow) -> bool:
        return self.filter.has(f"{row.text} {getattr(row, 'fate_text', '')}")

    def _chosen(self, rows: list[LadderRow]) -> PacketRow | None:
        packets = [row for row in rows if isinstance(row, PacketRow)]
        marked_rows = [row for row in packets if self._is_marked(row)]
        return next(iter(marked_rows), packets[-1] if packets else None)

    # ---- drawing --------------------------------------------------------------------------------

    def lines(self, width: int, height: int) -> list[Line]:
        """Packets as arrows, and the headers of the marked one if there is room or it is opened."""
        view = self.stage.look(self.sentences()[0])
        rows = [row for row in view.rows if self._is_wanted(row)]
        if not rows:
            hint = "no row matches the filter" if self.filter.pattern else view.hint
            return [[(DIM, hint)]]
        chosen = self._chosen(rows)
        if chosen is not None and self._is_roomy(height):
            return self._both(rows, chosen, width, height)
        if chosen is not None and self.opened:
            return self._taken_apart(chosen, width)
        drawn = self._ladder(rows, chosen, width, height)
        return drawn if chosen is None else self._filled(drawn, chosen, width, height)

    def _filled(self, drawn: list[Line], chosen: PacketRow, width: int, height: int) -> list[Line]:
        """Where the list leaves room, what the marked packet says of RDMA stands at the bottom."""
        apart = self._taken_apart(chosen, width)
        names = [text_of(line[:1]).strip() for line in apart]
        first = names.index("BTH") if "BTH" in names else 0
        said = [line for line in apart[first:] if not text_of(line).startswith("+")]
        spare = height - len(drawn) - len(said) - 1
        if spare < 0:
            return drawn
        return [*drawn, *[[] for _ in range(spare)], _rule(chosen, width), *said]

    def _is_roomy(self, height: int) -> bool:
        return height >= _ROOMY

    def _ladder(
        self, rows: list[LadderRow], chosen: PacketRow | None, width: int, height: int
    ) -> list[Line]:
        """As many rows as fit: around the mark, else the newest with what is planned."""
        event = self.stage.session.world.event
        drawn = show_wire.ladder(rows, width, event)
        at = next((n for n, row in enumerate(rows) if row is chosen), len(rows) - 1)
        if chosen is not None and (self.has_focus or self.marked is not None):
            drawn[at] = marked(drawn[at], width)
        if self.marked is not None:
            start = max(0, min(at - height // 2, len(rows) - height))
        else:
            planned = sum(isinstance(row, PlannedRow) for row in rows)
            past = len(rows) - planned
            kept = min(planned, max(1, height // 3), height - 1) if past else planned
            start = max(0, past + kept - height)
        return drawn[start : start + height]

    def _both(
        self, rows: list[LadderRow], chosen: PacketRow, width: int, height: int
    ) -> list[Line]:
        """The list above, the marked packet below."""
        apart = self._taken_apart(chosen, width)
        room = max(height // 3, min(len(rows), height - _APART), height - len(apart) - 1)
        above = self._ladder(rows, chosen, width, room)
        above += [[] for _ in range(room - len(above))]
        return [*above, _rule(chosen, width), *apart][:height]

    def _taken_apart(self, chosen: PacketRow, width: int) -> list[Line]:
        row: DecodedRow | None = decoded_row(self.stage.session.world, chosen.number)
        return show_wire.decoded(row, width) if row is not None else []

    def text(self) -> str:
        """All rows, as text."""
        rows = self.stage.look(f"show wire last={_LAST}").rows
        rows = [row for row in rows if self._is_wanted(row)]
        event = self.stage.session.world.event
        return "\n".join(text_of(line).rstrip() for line in show_wire.ladder(rows, 100, event))


def _rule(chosen: PacketRow, width: int) -> Line:
    return [(DIM, f"── taken apart: ev {chosen.event} {chosen.label} ".ljust(width, "─"))]
