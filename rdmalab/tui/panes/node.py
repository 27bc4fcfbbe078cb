"""A node: one QP with its state machine and queues, a CQ, a memory region, and the other QPs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdmalab.command import Noun, Thing
from rdmalab.hca.qp import QueuePair
from rdmalab.shell import show_objects, show_qp
from rdmalab.shell.show import render_rows
from rdmalab.shell.styled_text import fold
from rdmalab.shell.tables import CURRENT, DIM, GOOD, NAME, NUMBER, WARN, gauge
from rdmalab.spec.statuses import WCStatus
from rdmalab.tui import diagram, node_sections
from rdmalab.tui.hexview import hex_lines
from rdmalab.tui.overflow import ALWAYS, HEAD, MORE, REST, USEFUL, fitted, numbered, with_room
from rdmalab.tui.pane import Pane
from rdmalab.views.completions import CqRow, WcRow
from rdmalab.views.memory import HexRow, MrRow
from rdmalab.views.ports import PortRow
from rdmalab.views.queues import QpRow
from rdmalab.views.states import DiagramRow
from rdmalab.views.wqes import RecvRow, WqeRow

if TYPE_CHECKING:
    from rdmalab.shell.styled_text import Line
    from rdmalab.tui.overflow import RankedLine
    from rdmalab.tui.pane import Appearance
    from rdmalab.tui.world_view import WorldView

_MANY_ROWS = 13  # from here on the state machine is drawn in boxes
_WIDE = 50  # columns; from here on numbers are told that one can do without
_SHORT_BAR = 8  # cells of a CQ that has something else to say
_CORNERS = 6  # columns of a border beside its title
_ROOMY = 20  # from here on there are blank lines between the parts

_LEGEND = ("■ done", "▶ under way", "▪ waiting", "□ free")


class NodePane(Pane):
    """`position`: 0 is the node on the left."""

    def __init__(self, name: str, stage: WorldView, look: Appearance, position: int) -> None:
        super().__init__(name, stage, look)
        self.position = position
        self.chosen: dict[Noun, Thing] = {}

    # ---- which things ---------------------------------------------------------------------------

    @property
    def node(self) -> str:
        return self.stage.node(self.position)

    def thing(self, noun: Noun) -> Thing | None:
        """The object chosen with a key, else the current one."""
        things = self.stage.things(self.node, noun)
        chosen = self.chosen.get(noun)
        if chosen in things:
            return chosen
        if noun is Noun.CQ:
            return self._cq_of_qp() or self.stage.meant(self.node, noun)
        return self.stage.meant(self.node, noun)

    def _cq_of_qp(self) -> Thing | None:
        """Its CQ; of an XRC_RECV queue pair, which has none, that of an SRQ of its domain."""
        qp = self.thing(Noun.QP)
        if qp is None:
            return None
        world = self.stage.session.world
        it = world.find(qp, QueuePair)
        fed = [s.cq for s in world.nodes[qp.node].srqs.items.values() if s.xrcd == it.xrcd and s.cq]
        number = it.send_cq or next(iter(fed), None)
        found = [t for t in self.stage.things(self.node, Noun.CQ) if t.number == number]
        return found[0] if found else None

    def action_other(self, noun: str, direction: int) -> None:
        """Show the next (1) or previous (-1) object of a noun; an empty noun means QP."""
        of = Noun(noun or Noun.QP)
        things = self.stage.things(self.node, of)
        if things:
            now = self.thing(of)
            at = things.index(now) if now in things else 0
            self.chosen[of] = things[(at + direction) % len(things)]
        self.redraw()

    def breakpoint(self) -> str:
        """A `watch` command for the state of the QP; empty if there is no QP."""
        qp = self.thing(Noun.QP)
        return f"watch {self.stage.name(qp)}.state" if qp is not None else ""

    def action_move(self, rows: int) -> None:
        """Show the next or previous QP if `rows` is 1 or -1; else scroll."""
        if abs(rows) == 1:
            self.action_other("", rows)
        else:
            super().action_move(rows)

    def sentences(self) -> list[str]:
        """A `show` command for each object in the pane; for the node if it has no QP."""
        wanted = (Noun.QP, Noun.CQ, Noun.MR)
        if self.thing(Noun.QP) is None:
            return [f"show {self.node}"]
        found = [thing for noun in wanted if (thing := self.thing(noun)) is not None]
        return [f"show {self.stage.name(thing)}" for thing in found]

    # ---- what is drawn --------------------------------------------------------------------------

    def title(self) -> Line:
        """Node, address, QP with type, number and peer, and its position among the QPs."""
        line: Line = [(CURRENT, self.node)]
        if self.place and self.place.width > 52 and self.node:
            rows = self.stage.look("show link").rows
            gid = next(r.gid for r in rows if isinstance(r, PortRow) and r.node == self.node)
            line.append((DIM, f"  {gid.rpartition(':')[2]}"))
        qp = self.thing(Noun.QP)
        if qp is None:
            return line
        row: QpRow = next(r for r in self._rows_of(qp) if isinstance(r, QpRow))
        peer = f" → {row.peer}" if row.peer else ""
        own = self.stage.name(qp).partition(".")[2]
        line.append(("", f"  {own} {row.qp_type.name} {row.qp_num:#x}{peer}"))
        count = len(self.stage.things(self.node, Noun.QP))
        if count > 1:
            at = self.stage.things(self.node, Noun.QP).index(qp) + 1
            room = self.place.width - _CORNERS if self.place else 0
            line = with_room(line, [(DIM, f"  {at} of {count}")], room)
        return line

    def foot(self) -> Line:
        """The legend of the bars; with the focus, the keys."""
        if self.has_focus:
            return [(DIM, "j k: other QP  c: CQ  m: memory")]
        narrow = self.place is not None and self.place.width < 46
        legend = (part.replace(" ", "", 1) for part in _LEGEND) if narrow else _LEGEND
        return [(DIM, (" " if narrow else "  ").join(legend))]

    def _rows_of(self, thing: Thing) -> list[object]:
        return self.stage.look(f"show {self.stage.name(thing)}").rows

    def lines(self, width: int, height: int) -> list[Line]:
        """State, queues, CQ, memory and attributes; the least important are dropped to fit."""
        if not self.node:
            return [[(DIM, "there is no second node")]]
        qp = self.thing(Noun.QP)
        if qp is None:
            return [*_EMPTY, *render_rows(self.stage.look(f"show {self.node}").rows, width)]
        rows = self._rows_of(qp)
        there = self.stage.look(f"show {self.node}").rows
        ranked = node_sections.troubles(self.stage, self.node, there, width)
        ranked += self._machine(rows, width, height)
        ranked += self._others(width)
        gap: list[RankedLine] = [(REST + 40, [[]])] if height > _ROOMY else []
        ranked += gap + self._queues(rows, width)
        ranked += self._cq(width)
        ranked += self._memory(width)
        ranked += node_sections.windows(there, width)
        ranked += node_sections.ways(there, rows, width)
        ranked += node_sections.others(there, rows, width)
        ranked += node_sections.programs(there, width)
        ranked += gap + self._attributes(rows, width)
        return fitted(ranked, height)

    def _machine(self, rows: list[object], width: int, height: int) -> list[RankedLine]:
        event = self.stage.session.world.event
        for row in rows:
            if isinstance(row, DiagramRow):
                if height >= _MANY_ROWS and width >= diagram.BOXES_WIDTH:
                    return [(ALWAYS, diagram.boxes(row, width, event))]
                return [(ALWAYS, [diagram.one_line(row, event)])]
        return []

    def _queues(self, rows: list[object], width: int) -> list[RankedLine]:
        row = next((row for row in rows if isinstance(row, QpRow)), None)
        if row is None:
            return []
        work = render_rows([r for r in rows if isinstance(r, WqeRow)], width - 3)
        receives = render_rows([r for r in rows if isinstance(r, RecvRow)], width - 3)
        ranked: list[RankedLine] = [(ALWAYS, [line]) for line in show_qp.send_lines(row)]
        ranked += numbered(USEFUL + 2, work) + node_sections.region(row, width)
        shared = node_sections.shared(self.stage, row, width)
        if shared:
            return ranked + shared
        ranked += [(ALWAYS, [line]) for line in show_qp.receive_lines(row, "! EMPTY")]
        return ranked + numbered(USEFUL + 4, receives)

    def _attributes(self, rows: list[object], width: int) -> list[RankedLine]:
        row = next((row for row in rows if isinstance(row, QpRow)), None)
        if row is None:
            return []
        ranked: list[RankedLine] = []
        for number, line in enumerate(show_qp.settings(row)):
            ranked.append((MORE + number, fold(line, width, 2)))
        return ranked

    def _cq(self, width: int) -> list[RankedLine]:
        cq = self.thing(Noun.CQ)
        if cq is None:
            return []
        rows = self._rows_of(cq)
        row = next(row for row in rows if isinstance(row, CqRow))
        own = row.name.partition(".")[2]
        waking = show_objects.arm_line(row)
        bar = (_SHORT_BAR,) if waking and width <= _WIDE else ()
        line: Line = [
            ("", f"CQ {gauge(row.count, row.capacity, *bar)} "),
            (NUMBER, f"{row.count}/{row.capacity}"),
            ("", f"  {own}"),
            (WARN, "  ! OVERRUN" if row.dead else ""),
        ]
        so_far: Line = [(DIM, f"  {row.total} so far")] if width > _WIDE else []
        line = with_room(line, [*waking, *so_far], width)
        cqes = [r for r in rows if isinstance(r, WcRow)]
        ranked: list[RankedLine] = [(ALWAYS, [line])]
        for number, wc in enumerate(cqes):
            ranked.append((HEAD if number == 0 else USEFUL + 5 + number, [_cqe(wc, number, width)]))
        return ranked

    def _memory(self, width: int) -> list[RankedLine]:
        mr = self.thing(Noun.MR)
        if mr is None:
            return []
        rows = self._rows_of(mr)
        octets = [row for row in rows if isinstance(row, HexRow)]
        head = next(row for row in rows if isinstance(row, MrRow))
        own = head.name.partition(".")[2]
        ranked: list[RankedLine] = []
        if octets:
            (first, *_) = hex_lines(octets[0], width - len(own) - 1, text=width > 50)
            ranked.append((HEAD + 1, [[(NAME, own), ("", " "), *first]]))
        (told,) = show_objects.mr_table([head])
        return [*ranked, (REST, fold(told, width, 2))]

    def _others(self, width: int) -> list[RankedLine]:
        """The other QPs of the node, in a line."""
        things = self.stage.things(self.node, Noun.QP)
        if len(things) < 2:
            return []
        world = self.stage.session.world
        shown = self.thing(Noun.QP)
        line: Line = [(DIM, "QPs ")]
        for thing in sorted(things, key=lambda thing: thing != shown):  # it must not be cut off
            own = self.stage.name(thing).partition(".")[2]
            word = f"{own} {world.find(thing, QueuePair).state.name}"
            line.append((CURRENT, f"[{word}] ") if thing == shown else ("", f"{word}  "))
        first, *more = fold(line, width - 2, 4)
        goes_on: Line = [(DIM, " …")] if more else []
        return [(HEAD, [[*first, *goes_on]]), *((REST, [part]) for part in more)]


def _cqe(row: WcRow, number: int, width: int) -> Line:
    good = row.status == WCStatus.SUCCESS
    mark = "▸" if number == 0 else " "
    vendor = f"  vendor_err={row.vendor_err:#x}" if not good and width > 50 else ""
    return [("", f" {mark} "), (GOOD if good else WARN, row.text), (DIM, f"  {row.qp}{vendor}")]


_EMPTY: list[Line] = [
    [(DIM, "no queue pair yet")],
    [("", "type "), (NAME, "use rc_pair"), ("", ": it makes two, connected")],
]
