"""Render rows of the views as lines, for `show` on a terminal and for the panes of the app.

render(view, 80)            lines of (style, text), no wider than 80
render_rows(rows, 40)       the same for rows that a pane has fetched
"""

import re
from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from typing import Any

from rdmalab.shell import show_qp, show_timeline, show_wire, tables
from rdmalab.shell.styled_text import Fragment, Line, in_ascii, laid, plain, shown
from rdmalab.shell.styled_text import rows as folded
from rdmalab.shell.tables import rows_table
from rdmalab.views import fmt
from rdmalab.views.calls import CallRow
from rdmalab.views.changes import ChangeRow
from rdmalab.views.columns import COLUMNS
from rdmalab.views.completions import WcRow
from rdmalab.views.counters import CountersRow, names_of
from rdmalab.views.ladder import MarkerRow, PacketRow
from rdmalab.views.memory import HexRow
from rdmalab.views.packets import DecodedRow
from rdmalab.views.planned import PlannedRow
from rdmalab.views.ports import LinkRow
from rdmalab.views.programs import LineRow
from rdmalab.views.queues import QpRow, QueueRow
from rdmalab.views.states import DiagramRow
from rdmalab.views.story import EventRow, RepeatRow, StoryRow
from rdmalab.views.timeline import TimelineRow
from rdmalab.workbench.view_requests import JournalRow, View


# --------------------------------------------------------------------------- memory, ports
def hexdump(row: HexRow) -> list[Line]:
    """16 bytes, bytes that the event touched in `[ ]`."""
    cells, bar_, text = row.text.partition(" |")
    return [[*tables.bracketed(cells), (tables.DIM, bar_ + text)]]


def link(row: LinkRow) -> list[Line]:
    """The link and its faults."""
    up: Fragment = (tables.GOOD, "UP") if row.up else (tables.WARN, "! DOWN")
    speed = fmt.rate(row.rate_bps)
    rest = f"  {fmt.duration(row.latency_ns)} one way  {speed}  mtu {row.mtu}"
    lines: list[Line] = [[("", "link "), up, ("", rest)]]
    return lines + [plain(f"! fault {fault}", tables.WARN) for fault in row.faults]


_HANG, _LETTER = 7, "a) "
_BELOW = {WcRow: "  "}  # rows that stand below the object that holds them


def render(view: View, width: int, *, ascii: bool = False) -> list[Line]:  # noqa: A002
    """The lines of a view, without its title."""
    lines = render_rows(view.rows, width, event=view.event)
    if view.hint:
        lines += folded(plain(view.hint, tables.DIM), width)
    return [in_ascii(line) for line in lines] if ascii else lines


def render_rows(rows: Sequence[Any], width: int, *, event: int = -1) -> list[Line]:
    """Lines for the rows of any view; rows of one type form a table. event: number to mark."""
    lines: list[Line] = []
    previous: type | None = None
    for key, group in groupby(rows, key=_section):
        found = list(group)
        if key is _LADDER:
            lines += laid(partial(_ladder, found, event), width)
        elif previous is DiagramRow and type(found[0]) is QpRow:
            lines += [line for row in found for line in show_qp.qp_block(row)]
        else:
            lines += _lines_of(found, width)
        previous = type(found[-1])
    return [row for line in lines for row in folded(line, width, hanging_indent(line))]


def hanging_indent(line: Line) -> int:
    """The indentation of the later rows of a long line, after its number and its time.

    Prose has none, but an answer to choose begins after its letter.
    """
    if line and line[0][0] in (tables.NOTE, tables.PROSE):
        return len(_LETTER) if re.match(r" *[a-z]\) ", line[0][1]) else 0
    dated = [text for style, text in line[:2] if style in (tables.EVENT, tables.DIM)]
    return len("".join(dated)) if line and line[0][0] == tables.EVENT else _HANG


def _program_lines(rows: Sequence[LineRow]) -> list[Line]:
    """`> 3    get_cq_event A.ch0`: the lines of a program, with the next one marked."""
    return [
        [
            (
                tables.CURRENT if row.comes else tables.DIM,
                f"{'>' if row.comes else ' '} {row.number:>3}  ",
            ),
            (tables.CURRENT if row.comes else "", shown(row.text)),
        ]
        for row in rows
    ]


_LADDER = "ladder"


def _ladder(rows: list[Any], event: int, width: int) -> list[Line]:
    return show_wire.ladder(rows, width, event)


def _section(row: object) -> object:
    return _LADDER if isinstance(row, PacketRow | MarkerRow | PlannedRow) else type(row)


def _lines_of(rows: list[Any], width: int) -> list[Line]:
    kind = type(rows[0])
    if (several := _TABLES.get(kind)) is not None:
        return several(rows)
    if kind is DecodedRow:
        return [line for row in rows for line in show_wire.decoded(row, width)]
    if kind is TimelineRow:
        return [line for row in rows for line in show_timeline.lines(row, width)]
    if kind in COLUMNS and kind not in _SINGLE:
        below = _BELOW.get(kind, "")
        return [[("", below), *line] if below else line for line in rows_table(rows)]
    one = _SINGLE.get(kind, _unknown)
    return [line for row in rows for line in one(row)]


def _unknown(row: object) -> list[Line]:
    """The line of a row that only has a text."""
    return [plain(line) for line in str(getattr(row, "text", row)).splitlines()]


# --------------------------------------------------------------------------- the past
_CLOCK = 11  # columns of a moment


def _story(row: StoryRow) -> list[Line]:
    number = f"{row.event}.{row.position}".rjust(6)
    who = f"{row.subject}  " if row.subject else ""
    return [_dated(number, row.at_ns, [(tables.NAME, who), ("", shown(row.sentence))])]


def event_line(row: EventRow | RepeatRow) -> Line:
    """`ev 28  8.100 us  A.qp0 sent SEND_ONLY psn=3 64 B to B`."""
    return _dated(f"ev {row.event:<3}", row.at_ns, [("", shown(row.text))])


def _dated(number: str, at_ns: int | None, rest: Line) -> Line:
    moment = fmt.clock_in(at_ns, _CLOCK) if at_ns is not None else ""
    return [(tables.EVENT, number), (tables.DIM, f" {moment:>{_CLOCK}}  "), *rest]


def _call(row: CallRow) -> list[Line]:
    failed = row.errno != 0
    return [_dated(f"ev {row.event:<3}", row.at_ns, [(tables.WARN if failed else "", row.text)])]


def _change(rows: Sequence[ChangeRow]) -> list[Line]:
    return [
        [(tables.NAME, row.name), ("", f".{row.field}" if row.name else row.field), *_became(row)]
        for row in rows
    ]


def _became(row: ChangeRow) -> Line:
    if not row.old:
        return [(tables.DIM, " = "), (tables.NUMBER, shown(row.new))]
    return [("", f" {shown(row.old)}"), (tables.DIM, " → "), (tables.NUMBER, shown(row.new))]


def _journal(row: JournalRow) -> list[Line]:
    return [_dated(f"ev {row.event:<3}", row.at_ns, [("", row.text)])]


# --------------------------------------------------------------------------- numbers
def _counters(rows: Sequence[CountersRow]) -> list[Line]:
    """Counters: one line a counter, one column a node."""
    cells = [tables.header("", *(row.node for row in rows))]
    cells += [
        [("", name), *(_count(getattr(row, name)) for row in rows)] for name in names_of(rows)
    ]
    return tables.table(cells, "<" + ">" * len(rows))


def _count(value: int) -> Fragment:
    return (tables.NUMBER if value else tables.DIM, str(value))


_TABLES: dict[type, Callable[[list[Any]], list[Line]]] = {
    QpRow: show_qp.qp_table,
    LineRow: _program_lines,
    CountersRow: _counters,
    ChangeRow: _change,
}
_SINGLE: dict[type, Callable[[Any], list[Line]]] = {
    DiagramRow: show_qp.diagram,
    QueueRow: show_qp.queue,
    HexRow: hexdump,
    LinkRow: link,
    StoryRow: _story,
    EventRow: lambda row: [event_line(row)],
    CallRow: _call,
    JournalRow: _journal,
}
