"""Rows of bytes: sixteen with their text, or eight if the width is small."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdmalab.shell.tables import DIM, bracketed
from rdmalab.views.memory import HexRow

if TYPE_CHECKING:
    from rdmalab.shell.styled_text import Line

_OFFSET, _CELL = 4, 3


def per_row(width: int, *, text: bool = True) -> int:
    """How many bytes fit: their offset, a bracket, three columns each, and their text."""
    for count in (16, 8, 4):
        if width >= _OFFSET + 1 + (_CELL + text) * count:
            return count
    return 4


def hex_lines(row: HexRow, width: int, *, text: bool = True) -> list[Line]:
    """One row of a view in one line or several; without `text` bytes come first."""
    count = per_row(width, text=text)
    return [_line(part, count, width) for part in _parts(row, count)]


def _parts(row: HexRow, count: int) -> list[HexRow]:
    return [
        HexRow(
            row.offset + start,
            row.addr + start,
            row.octets[start : start + count],
            _shifted(row.read, start, count),
            _shifted(row.written, start, count),
        )
        for start in range(0, len(row.octets), count)
    ]


def _shifted(columns: tuple[int, ...], start: int, count: int) -> tuple[int, ...]:
    return tuple(column - start for column in columns if start <= column < start + count)


def _line(row: HexRow, count: int, width: int) -> Line:
    cells = row.text.partition(" |")[0].rstrip()
    across = _OFFSET + 1 + _CELL * count
    roomy = width >= across + count + 3
    fits = width >= across + count
    text = f" │{row.ascii}│" if roomy else row.ascii if fits else ""
    line: Line = [*bracketed(cells.ljust(across)), (DIM, text)]
    if row.written or row.read:
        word = "written" if row.written else "read"
        if width >= across + len(text) + len(word) + 1:
            line.append(("class:event", f" {word}"))
    return line
