"""Small drawings for rows: aligned columns, bars, brackets; rows that are described by columns."""

import re
from collections.abc import Sequence
from itertools import zip_longest

from rdmalab.render.json_rows import grid
from rdmalab.render.meanings import APPEARANCES
from rdmalab.shell.styled_text import Fragment, Line, shown
from rdmalab.views.columns import USUAL, Cell, Gauge, Meaning
from rdmalab.views.queues import QueueRow

NUMBER, DIM, WARN, TOUCHED = "class:number", "class:dim", "class:warn", "class:touched"
NOTE, PROSE = "class:note", "class:prose"
CURRENT, NAME, GOOD, EVENT = "class:state.current", "class:name", "class:good", "class:event"

_BAR = 16  # cells of the longest bar
_TOUCHED = re.compile(r"\[[^\]]*\]")
_LEFT, _RIGHT = "<", ">"


def table(rows: Sequence[Sequence[Fragment]], aligned: str = "") -> list[Line]:
    """Cells in columns as wide as the widest cell. aligned: `>` for each column of numbers."""
    if not rows:
        return []
    columns = zip_longest(*rows, fillvalue=("", ""))
    widths = [max(len(text) for _, text in column) for column in columns]
    aligned = aligned.ljust(len(widths), _LEFT)
    return [_row(row, widths, aligned) for row in rows]


def _row(row: Sequence[Fragment], widths: list[int], aligned: str) -> Line:
    line: Line = []
    for index, (style, text) in enumerate(row):
        pad = " " * (widths[index] - len(text))
        gap = "  " if index else ""
        if aligned[index] == _RIGHT:
            line += [("", gap + pad), (style, shown(text))]
        else:
            line += [("", gap), (style, shown(text)), ("", pad)]
    while line and not line[-1][1].strip():
        line.pop()
    return [fragment for fragment in line if fragment[1]]


def header(*names: str) -> list[Fragment]:
    """The column names as dimmed cells."""
    return [(DIM, name) for name in names]


def bar(queue: QueueRow, most: int = _BAR) -> str:
    """Slots: ✗ failed, ■ done, ▶ in progress, ▪ waiting, □ free. Long queues are scaled."""
    cells = min(queue.capacity, most)
    good = max(0, queue.acked - queue.failed)
    parts = (("✗", queue.failed), ("■", good), ("▶", queue.on_wire), ("▪", queue.waiting))
    drawn = ""
    for mark, count in parts:
        drawn += mark * _scaled(count, queue.capacity, cells)
    return drawn[:cells].ljust(cells, "□")


def drawn(of: Gauge, most: int = _BAR) -> str:
    """`■▶▪□ 3/4`."""
    cells = min(of.capacity, most)
    parts = (("■", of.done), ("▶", of.under_way), ("▪", of.waiting))
    bar_ = "".join(mark * _scaled(count, of.capacity, cells) for mark, count in parts)
    return f"{bar_[:cells].ljust(cells, '□')} {of.used}/{of.capacity}"


def _scaled(count: int, capacity: int, cells: int) -> int:
    """At least one cell if the value is not 0."""
    return -(-count * cells // capacity) if capacity else 0


def bracketed(text: str) -> Line:
    """Style a text in which `[…]` marks touched bytes."""
    line: Line = []
    at = 0
    for match in _TOUCHED.finditer(text):
        line += [("", text[at : match.start()]), (TOUCHED, match[0])]
        at = match.end()
    return [fragment for fragment in [*line, ("", text[at:])] if fragment[1]]


def cut(text: str, width: int) -> str:
    """The text, cut to `width` with an ellipsis."""
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"


_OWN = {Meaning.PLAIN: "", Meaning.NAME: NAME, Meaning.NUMBER: NUMBER}


def style(meaning: Meaning) -> str:
    """The style of a meaning: `class:bad bold`."""
    appearance = APPEARANCES[meaning]
    return _OWN.get(meaning, f"class:{appearance.tone}{' bold' if appearance.bold else ''}")


def fragment(cell: Cell, bar: int = _BAR, *, bare: bool = False) -> Fragment:
    """A cell with its sign and style. bare: without its label, under a heading."""
    value = drawn(cell.value, bar) if isinstance(cell.value, Gauge) else cell.value
    text, sign = str(value) if bare else cell.text(value), APPEARANCES[cell.meaning].sign
    return style(cell.meaning), shown(f"{sign} {text}" if sign else text)


def rows_table(rows: Sequence[object], most: int = USUAL) -> list[Line]:
    """Rows of one class below each other; with headings if a column needs one."""
    if not rows:
        return []
    found = grid(rows, most)
    headed, columns = found.is_headed, found.columns
    lines = [
        [
            ("", col.absent) if cell is None else fragment(cell, bare=headed and bool(col.title))
            for col, cell in zip(columns, row, strict=True)
        ]
        for row in found.rows
    ]
    heads: list[list[Fragment]] = [[(DIM, col.title) for col in columns]] if headed else []
    return table([*heads, *lines], "".join(">" if col.right else "<" for col in columns))
