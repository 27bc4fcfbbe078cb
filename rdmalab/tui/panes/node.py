"""A node: its queue pair that is meant, with states, queues, completions and memory, as a card."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from rdmalab.command import Noun, Thing
from rdmalab.hca.objects import MemoryRegion
from rdmalab.hca.qp import QueuePair
from rdmalab.shell.show import render_rows
from rdmalab.spec.limits import PortState
from rdmalab.spec.states import ERROR_STATES
from rdmalab.tui import node_card as card
from rdmalab.tui.content import Ranked, click, content, dim, filled, piece
from rdmalab.tui.node_card import sends
from rdmalab.tui.pane import Card, read_all
from rdmalab.views.columns import Meaning
from rdmalab.views.memory import HexRow
from rdmalab.views.memory_use import latest_use
from rdmalab.views.ports import DeviceRow, PortRow
from rdmalab.views.programs import MEANINGS, ProgramRow
from rdmalab.views.queues import QpRow
from rdmalab.views.receive_need import need_row
from rdmalab.views.srq import SharedRecvRow
from rdmalab.views.stalled import failure_row, stalled_rows
from rdmalab.views.states import DiagramRow
from rdmalab.views.wqes import RecvRow, WqeRow
from rdmalab.world.relations import exists

if TYPE_CHECKING:
    from rdmalab.session.session import Session
    from rdmalab.tui.world_view import WorldView

_TALL = 20  # lines; from here on there are blank lines between the parts
_OTHERS = {"program": card.IDLE, "channel": card.OBJECTS, "srq": card.OBJECTS,
           "mw": card.IDLE, "ah": card.OBJECTS, "flow": card.OBJECTS}  # fmt: skip


class NodePane(Card, can_focus=True):
    """The last digit of the id is the position of the node: 0 is the left one."""

    SWITCHES = "opz"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "other(-1)", "QP before", tooltip="The queue pair before, and its peer"),
        Binding("down", "other(1)", "Next QP", tooltip="The next queue pair, and its peer"),
        Binding("p", "hold", "Hold", tooltip="Hold this queue pair and its peer; again: let go"),
        Binding("o", "beside", "Other", tooltip="A QP of the other card's node; again: let go"),
        Binding("enter", "details", "Details", tooltip="All that show prints"),
    ]

    def __init__(self, view: WorldView, *, id: str) -> None:  # noqa: A002 (Textual's word)
        super().__init__(view, id=id)
        self.position = int(id[-1])
        self._title = Content()
        self._guest: tuple[Thing, Session] | None = None

    # ---- what is shown --------------------------------------------------------------------------

    @property
    def node(self) -> str:
        """The name of the node that is shown; empty if there is none at this position."""
        return self.guest.node if self.guest else self.view.node(self.position)

    @property
    def guest(self) -> Thing | None:
        """A queue pair of the node at the other position that is held here; None: there is none."""
        thing, owner = self._guest or (None, None)
        session = self.view.session
        return thing if thing and owner is session and exists(session.world, thing) else None

    @property
    def qp(self) -> Thing | None:
        """The queue pair that is shown; None if the node has none."""
        return self.guest or (self.view.meant(self.node, Noun.QP) if self.node else None)

    @property
    def twin(self) -> str:
        """The command that prints the same."""
        return f"show {self.view.name(self.qp) if self.qp else self.node}"

    def action_other(self, step: int) -> None:
        """Choose the next (1) or previous (-1) queue pair; the card of the peer follows."""
        things = self.view.things(self.node, Noun.QP) if self.node else []
        if self.qp in things:
            self.action_choose(self.view.name(things[(things.index(self.qp) + step) % len(things)]))

    def action_choose(self, name: str) -> None:
        """Choose a queue pair by its name; of held ones the other node's stays."""
        thing = self.view.session.names.find(name)
        if self.guest and thing:
            self._guest = thing, self.view.session
        else:
            if self.view.held and thing:
                self.view.hold(thing, alone=True)
            self.view.choose(name)
        read_all(self.screen)

    def action_beside(self) -> None:
        """Hold a queue pair of the other card's node here, or let it go."""
        other = self.view.node(1 - self.position)
        shown = self.view.meant(other, Noun.QP) if other and not self.guest else None
        free = (each for each in self.view.things(other, Noun.QP) if each != shown)
        guest = next(free, None) if shown else None
        self._guest = (guest, self.view.session) if guest else None
        read_all(self.screen)

    def action_hold(self) -> None:
        """Hold the queue pair that is shown, or let it go."""
        if self.guest:
            self.action_beside()
        elif self.qp is not None:
            self.view.hold(self.qp)
            read_all(self.screen)

    def action_hold_other(self) -> None:
        """Hold what both cards show, then the next queue pair in this one."""
        if not self.view.held:
            self.action_hold()
        self.action_other(1)

    @property
    def sought(self) -> str:
        """Hint for the line in which one types."""
        return f"find a queue pair of {self.node}: qp7, 0x11, its peer, ERR"

    @property
    def sought_in(self) -> list[str]:
        """The queue pairs of the node: name, number, type, peer, state."""
        return [f"{row.name} {row.qp_num:#x} {row.qp_type.name} {row.peer} {row.state.name}"
                for row in self._pairs]  # fmt: skip

    @property
    def found(self) -> int:
        """The queue pair that is shown."""
        names, qp = [row.name for row in self._pairs], self.qp
        return names.index(self.view.name(qp)) if qp is not None else -1

    def show_found(self, number: int) -> None:
        """Show the queue pair and its peer."""
        self.action_choose(self._pairs[number].name)

    def action_details(self) -> None:
        """Open all that `show` prints."""
        self.act("open", self.twin)

    # ---- what is drawn --------------------------------------------------------------------------

    def read_rows(self) -> None:
        """Draw the lines, and the title, which is outside of them."""
        title = self.title(self.content_size.width)
        if not title.is_same(self._title):
            self._title = title
            self.border_title = title
        super().read_rows()

    def title(self, width: int) -> Content:
        """`A  ● held  10.0.0.1  qp0 0x11 RC ⇄ B.qp0  3 of 40`."""
        parts, roomy = [Content.styled(self.node or "no node", "bold")], width >= card.ROOMY
        if self.guest or self.node in self.view.held:  # before all that may find no room
            parts.append(piece("held", Meaning.CURRENT))
        if (port := self._port) is not None and roomy:
            parts.append(Content(port.gid.rpartition(":")[2]))
        for row in self._rows(self.qp):
            if isinstance(row, QpRow):
                number, peer = f" {row.qp_num:#x}" * roomy, f" ⇄ {row.peer}" * bool(row.peer)
                parts.append(Content(f"{card.own(row.name)}{number} {row.qp_type.name}{peer}"))
        things = self.view.things(self.node, Noun.QP) if self.node else []
        if len(things) > 1 and self.qp is not None:
            parts.append(Content(f"{things.index(self.qp) + 1} of {len(things)}"))
        return filled(max(width - 4, 8), parts)

    @property
    def _port(self) -> PortRow | None:
        ports = self.view.rows("show link", PortRow)
        return next((row for row in ports if row.node == self.node), None)

    @property
    def _pairs(self) -> list[QpRow]:
        """The queue pairs of the node."""
        return [row for row in self.view.rows("show qp", QpRow) if row.node == self.node]

    def _rows(self, thing: Thing | None) -> list[object]:
        return self.view.view_of(f"show {self.view.name(thing)}").rows if thing is not None else []

    def lines(self, width: int, height: int) -> Ranked:
        """States, troubles, queues, completions, memory, other objects, numbers."""
        if not self.node:
            return [(0, dim("there is no second node"))]
        rows = self._rows(self.qp)
        qp = next((row for row in rows if isinstance(row, QpRow)), None)
        parts = [self._states(rows, width)]
        if qp is not None and self.qp is not None:
            parts += self._work_queues(self.qp, qp, rows, width)
        parts += [
            *self._completions(qp, width),
            self._memory(width, height),
            self._others(qp, width),
        ]
        if qp is not None:
            parts.append(card.numbers(qp, width))
            others = (row for row in self._pairs if row.name != qp.name)
            parts.append(card.pair_lines(others, width) if height >= _TALL else [])
        gap: Ranked = [(card.BLANK, Content())] if height >= _TALL else []
        return [line for part in parts if part for line in (*part, *gap)]

    def _states(self, rows: list[object], width: int) -> Ranked:
        """The states or what to type, what is wrong with the node, and all its queue pairs."""
        view, verb = self.view, ("use rc_pair", f"bold $event {click('type_in', 'use rc_pair')}")
        row = next((row for row in rows if isinstance(row, DiagramRow)), None)
        empty = Content.assemble("no queue pair: type ", verb)
        line = card.state_line(row, width) if row is not None else empty
        states = row.states if row is not None else []
        note = next((each.note for each in states if each.current), "")
        clauses = (part for each in note.split("; ") for part in dim(each).wrap(width))
        found = [(card.STATES, line), *((card.BLANK - 1, part) for part in clauses)]
        devices, events = view.rows("show device", DeviceRow), view.view_of("show events").rows
        closed = (row.state for row in devices if row.node == self.node and row.state != "open")
        found += [(card.TROUBLE, piece(f"device {state}", Meaning.FAILED)) for state in closed]
        if (port := self._port) is not None and port.state is not PortState.ACTIVE:
            about = click("explain", "port")
            found.append((card.TROUBLE, piece(f"port {port.state.name}", Meaning.ATTENTION, about)))
        if waiting := [row for row in events if row.node == self.node and not row.taken]:
            found.append((card.TROUBLE, card.pending(waiting, width)))
        things, world = view.things(self.node, Noun.QP), view.session.world
        if len(things) > 1:
            pairs = [(view.name(each), world.find(each, QueuePair).state) for each in things]
            found.append((card.PAIRS, card.pairs_line(pairs, width)))
        return found

    def _work_queues(self, thing: Thing, qp: QpRow, rows: list[object], width: int) -> list[Ranked]:
        view = self.view
        stalled = next((row for row in view.ask(stalled_rows) if row.qp == qp.name), None)
        has_failed = qp.state in ERROR_STATES
        failure = view.ask(failure_row, thing) if has_failed else None
        work = [row for row in rows if isinstance(row, WqeRow)]
        parts, need = [sends(qp, work, stalled, failure, width)], view.ask(need_row, thing)
        queues = [view.view_of(f"show {name}").rows for name in self._sources(qp)] or [[qp, *rows]]
        for queue, *found in queues:  # with the receives, `show` has those who need one
            receives = [row for row in found if isinstance(row, RecvRow | SharedRecvRow)]
            parts.append(card.receives(queue, receives, need, width))
        return parts

    def _sources(self, qp: QpRow) -> list[str]:
        """The shared receive queues of a queue pair: its own, or all of its XRC domain."""
        found = self.view.view_of("show srq").rows if qp.xrcd and not qp.send_cq else []
        shared = [row.name for row in found if row.node == qp.node and row.xrcd == qp.xrcd]
        return [qp.srq] if qp.srq else shared

    def _completions(self, qp: QpRow | None, width: int) -> list[Ranked]:
        """The CQs of a queue pair, of an XRC one those of its SRQs; without one all of the node."""
        if qp is None:
            things = self.view.things(self.node, Noun.CQ)
            roles = dict.fromkeys(map(self.view.name, things), "")
        elif qp.send_cq != qp.recv_cq and qp.send_cq and qp.recv_cq:
            roles = {qp.send_cq: "sends", qp.recv_cq: "receives"}
        else:
            shared = (self.view.view_of(f"show {name}").rows[0].cq for name in self._sources(qp))
            roles = dict.fromkeys([qp.send_cq] if qp.send_cq else shared, "")
        views = ((self.view.view_of(f"show {name}").rows, role) for name, role in roles.items())
        name = qp.name if qp is not None else ""
        return [card.completions(rows[0], rows[1:], name, role, width) for rows, role in views]

    def _memory(self, width: int, height: int) -> Ranked:
        """The region that was used last, else one; with a queue pair only those of its PD."""
        world = self.view.session.world
        pd = world.find(self.qp, QueuePair).pd if self.qp is not None else None
        use = self.view.ask(latest_use, self.node, pd)
        regions = [
            thing for thing in self.view.things(self.node, Noun.MR)
            if pd in (None, world.find(thing, MemoryRegion).pd)
        ]  # fmt: skip
        meant = self.view.meant(self.node, Noun.MR)
        others = [meant] if meant in regions else regions
        region = use.region if use is not None else next(iter(others), None)
        if region is None:
            return []
        name, start = self.view.name(region), use.start if use is not None else 0
        head, first = self.view.view_of(f"show {name}[0:0]").rows[0], start // 16 * 16
        stop = min(head.length, first + (16 if height < _TALL else 128))
        octets = self.view.rows(f"show {name}[{first}:{stop}]", HexRow)
        return card.memory(head, octets, start, width)

    def _others(self, qp: QpRow | None, width: int) -> Ranked:
        """Programs, channels, windows and so on, as `show` prints them; a blocked program first."""
        shown = self._sources(qp) if qp is not None else []
        rows = ((rank, row) for what, rank in _OTHERS.items()
                for row in self.view.view_of(f"show {what}").rows
                if row.node == self.node and row.name not in shown)  # fmt: skip
        found: Ranked = []
        for rank, row in rows:
            first = card.WAITS if isinstance(row, ProgramRow) and row.state.is_stuck else rank
            lines = [content(line) for line in render_rows([row], width)]
            if len(lines) > 1 and isinstance(row, ProgramRow):  # what it does counts most
                state = piece(row.state.name, MEANINGS[row.state])
                line = Content.assemble(row.name, " ", state, f" {row.line}: {row.doing}")
                lines = [line.truncate(width, ellipsis=True)]
            found += [(card.BLANK - 1 if at else first, line) for at, line in enumerate(lines)]
        return found
