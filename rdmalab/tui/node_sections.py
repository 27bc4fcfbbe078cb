"""Sections of a node pane: SRQs, windows, channels, address handles, programs, events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdmalab.shell import show_parts, show_qp
from rdmalab.shell.styled_text import fold
from rdmalab.shell.tables import CURRENT, DIM, NAME, WARN
from rdmalab.spec.access import Access
from rdmalab.spec.limits import PortState
from rdmalab.spec.programs import ProgramState
from rdmalab.tui.overflow import ALWAYS, HEAD, REST, USEFUL, numbered, with_room
from rdmalab.views import fmt
from rdmalab.views.addresses import AhRow
from rdmalab.views.events import ChannelRow
from rdmalab.views.flows import FlowRow
from rdmalab.views.ports import DeviceRow, PortRow
from rdmalab.views.programs import ProgramRow
from rdmalab.views.queues import QpRow
from rdmalab.views.srq import SharedRecvRow, SrqRow
from rdmalab.views.windows import MwRow, WindowState

if TYPE_CHECKING:
    from rdmalab.shell.styled_text import Line
    from rdmalab.tui.overflow import RankedLine
    from rdmalab.tui.world_view import WorldView

_NARROW = 50  # columns; below, bars are short
_SHORT_BAR, _BAR = 8, 16


# ---- what is wrong -----------------------------------------------------------------------------
def troubles(stage: WorldView, node: str, there: list[object], width: int) -> list[RankedLine]:
    """Lines for a device that is not open, a port that is not ACTIVE, pending events."""
    line: Line = []
    for row in stage.look("show device").rows:
        if isinstance(row, DeviceRow) and row.node == node and row.state != "open":
            line.append((WARN, f"! device {row.state}  "))
    for row in there:
        if isinstance(row, PortRow):
            line += _of_port(stage, row)
    return [(ALWAYS, fold(line, width, 2))] if line else []


def _of_port(stage: WorldView, row: PortRow) -> Line:
    line: Line = []
    if row.state is not PortState.ACTIVE:
        line.append((WARN, f"! port {row.state.name}  "))
    if row.async_events:
        waits = [r for r in stage.look("show events").rows if r.node == row.node and not r.taken]
        many = f" and {len(waits) - 1} more" if len(waits) > 1 else ""
        line.append((WARN, f"! {waits[0].event.name}{many} pending"))
    return line


# ---- the queue pair that is shown ----------------------------------------------------------------
def region(row: QpRow, width: int) -> list[RankedLine]:
    """The work requests of an open critical region."""
    if not row.region.open:
        return []
    style = WARN if row.region.error else ""
    line: Line = [(CURRENT, "wr_start "), (style, show_qp.region_words(row.region))]
    first, *more = fold(line, width, 2)
    return [(HEAD, [first]), *((USEFUL, [part]) for part in more)]


def shared(stage: WorldView, row: QpRow, width: int) -> list[RankedLine]:
    """The SRQs of a queue pair, with the QP that uses each receive."""
    ranked: list[RankedLine] = []
    for rows in (stage.look(f"show {name}").rows for name in _sources(stage, row)):
        ranked.append((ALWAYS, [_gauge(rows[0], width)]))
        taken = [r for r in rows if isinstance(r, SharedRecvRow)]
        ranked += numbered(USEFUL + 4, show_parts.taken_table(taken))
    return ranked


def _sources(stage: WorldView, row: QpRow) -> list[str]:
    """Its SRQ; of an XRC_RECV queue pair those of its domain."""
    if row.srq:
        return [row.srq]
    found = stage.look("show srq").rows if row.xrcd else []
    return [r.name for r in found if r.node == row.node and r.xrcd == row.xrcd]


def _gauge(row: SrqRow, width: int) -> Line:
    cells = _SHORT_BAR if width < _NARROW else _BAR
    line = show_parts.srq_line(row, row.name.partition(".")[2], cells=cells)
    return with_room(line[:3], line[3:], width)


# ---- the node ----------------------------------------------------------------------------------
def windows(there: list[object], width: int) -> list[RankedLine]:
    """Memory windows, bound ones first."""
    ranked: list[RankedLine] = []
    for row in there:
        if not isinstance(row, MwRow):
            continue
        bound = row.state is WindowState.BOUND
        where = show_parts.opened(row).partition(".")[2] if bound else row.state.name
        line: Line = [(NAME, _own(row)), (CURRENT if bound else DIM, f" {where}")]
        line.append(("", f"  rkey {row.rkey:#x}"))
        more: Line = [(DIM, f"  {fmt.flags(row.access, Access)}")] if bound else []
        more += [("", f"  for {row.qp.partition('.')[2]}")] if row.qp else []
        ranked.append((HEAD + 3 if bound else REST, [with_room(line, more, width)]))
    return ranked


def ways(there: list[object], shown: list[object], width: int) -> list[RankedLine]:
    """Address handles and flow rules; more important if the shown queue pair uses them."""
    qp = next((row for row in shown if isinstance(row, QpRow)), None)
    has_peer = qp is not None and show_qp.is_connected(qp)
    ranked: list[RankedLine] = []
    for kind in (AhRow, FlowRow):
        found = [show_parts.way(row) for row in there if isinstance(row, kind)]
        if found:
            line: Line = [("", "  ".join(found))]
            ranked.append((REST if has_peer else HEAD + 2, fold(line, width, 2)))
    return ranked


def others(there: list[object], shown: list[object], width: int) -> list[RankedLine]:
    """Other SRQs, and channels with events."""
    qp = next((row for row in shown if isinstance(row, QpRow)), None)
    ranked: list[RankedLine] = []
    for row in there:
        if isinstance(row, SrqRow) and (qp is None or not _uses(qp, row)):
            ranked.append((USEFUL + 30, [_gauge(row, width)]))
        elif isinstance(row, ChannelRow):
            rank = HEAD + 4 if row.events or row.unacked else REST
            (line,) = show_parts.channel_table([row])
            ranked.append((rank, fold(line, width, 2)))
    return ranked


def programs(there: list[object], width: int) -> list[RankedLine]:
    """Programs; blocked ones are more important."""
    ranked: list[RankedLine] = []
    for row in there:
        if isinstance(row, ProgramRow):
            is_over = row.state is ProgramState.DONE
            stuck = row.state in (ProgramState.WAITING, ProgramState.FAILED)
            rank = REST if is_over else HEAD + 1 if stuck else HEAD + 3
            (line,) = show_parts.program_table([row])
            ranked.append((rank, fold([(NAME, _own(row)), *line[1:]], width, 2)))
    return ranked


def _uses(qp: QpRow, srq: SrqRow) -> bool:
    return qp.srq == srq.name or bool(qp.xrcd and qp.xrcd == srq.xrcd)


def _own(row: MwRow | ProgramRow) -> str:
    """The name without the node's."""
    return str(row.name).partition(".")[2]
