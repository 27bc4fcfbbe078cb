"""Rows that are described by columns, as lines of styled text."""

from collections.abc import Sequence

from rdmalab.render.grid import grid
from rdmalab.render.meanings import APPEARANCES
from rdmalab.shell.styled_text import Fragment, Line, shown
from rdmalab.shell.tables import DIM, NAME, NUMBER, drawn, table
from rdmalab.views.columns import USUAL, Cell, Gauge, Meaning

_BAR = 16
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
