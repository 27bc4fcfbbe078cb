"""A plot as text: braille, two by four dots in a cell, or ASCII with a sign for each line."""

from collections.abc import Iterator
from itertools import pairwise

from rdmalab.sweep.plot import Line, Plot

_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
_BRAILLE = 0x2800
_SIGNS = "*+ox#@%&"
_LETTERS = "abcdefghijklmnopqrst"
_MARGIN = 9
_STEPS = 400  # of a line between two points: more than any terminal has dots


def text(plot: Plot, width: int = 80, height: int = 16, *, ascii_only: bool = False) -> str:
    """The plot in so many columns and rows, with its title, axes and legend around it."""
    columns = max(16, width - _MARGIN - 4)
    drawn = _ascii(plot, columns, height) if ascii_only else _braille(plot, columns, height)
    rows = [plot.title, *([f"  {plot.caption}"] if plot.caption else [])]
    labels = {_row(plot.y.place(value), height): label for value, label in plot.y.labels}
    side = "|" if ascii_only else "┤"
    ends = _ends(plot, height)
    rows += [
        f"{labels.get(n, ''):>{_MARGIN - 1}} {side}{line} {ends.get(n, '')}".rstrip()
        for n, line in enumerate(drawn)
    ]
    rows += _below(plot, columns, ascii_only=ascii_only)
    return "\n".join(rows)


def _braille(plot: Plot, columns: int, height: int) -> list[str]:
    cells = [[0] * columns for _ in range(height)]
    for line in plot.lines:
        for x, y in _dots(plot, line):
            column = min(2 * columns - 1, int(x * 2 * columns))
            row = min(4 * height - 1, int((1 - y) * 4 * height))
            cells[row // 4][column // 2] |= _DOTS[row % 4][column % 2]
    return ["".join(chr(_BRAILLE + cell) if cell else " " for cell in row) for row in cells]


def _ascii(plot: Plot, columns: int, height: int) -> list[str]:
    cells = [[" "] * columns for _ in range(height)]
    for number, line in enumerate(plot.lines):
        for x, y in _dots(plot, line):
            column = min(columns - 1, int(x * columns))
            cells[_row(y, height)][column] = _SIGNS[number % len(_SIGNS)]
    return ["".join(row) for row in cells]


def _row(y: float, height: int) -> int:
    return min(height - 1, int((1 - y) * height))


def _dots(plot: Plot, line: Line) -> Iterator[tuple[float, float]]:
    """Places on the line, from 0 to 1 on each axis."""
    for piece in line.pieces:
        places = [(plot.x.place(s.x), plot.y.place(s.y)) for s in piece if s.y is not None]
        yield from places
        for (x0, y0), (x1, y1) in pairwise(places):
            for n in range(1, _STEPS):
                part = n / _STEPS
                yield x0 + (x1 - x0) * part, y0 + (y1 - y0) * part


def _ends(plot: Plot, height: int) -> dict[int, str]:
    """The letters of the lines, each in the row in which the line ends."""
    found: dict[int, str] = {}
    for letter, line in zip(_LETTERS, plot.lines, strict=False):
        if line.name and line.pieces and (y := line.pieces[-1][-1].y) is not None:
            row = _row(plot.y.place(y), height)
            found[row] = found.get(row, "") + letter
    return found


def _below(plot: Plot, columns: int, *, ascii_only: bool) -> Iterator[str]:
    ruler, lead = [" "] * (columns + 1), " " * (_MARGIN + 1)
    for value, label in plot.x.labels:
        at = min(int(plot.x.place(value) * columns), columns + 1 - len(label))
        if at >= 0 and all(sign == " " for sign in ruler[max(0, at - 1) : at + len(label) + 1]):
            ruler[at : at + len(label)] = label
    yield f"{lead}{''.join(ruler)}".rstrip()
    yield f"{lead}{plot.x.name}; the other axis is {plot.y.name}{' (log)' * plot.y.log}"
    for number, line in enumerate(plot.lines):
        if line.name:
            sign = f"{_SIGNS[number % len(_SIGNS)]} " if ascii_only else ""
            yield f"{lead}{_LETTERS[number]}: {sign}{line.name}"
    if plot.missing:
        yield f"{lead}{plot.missing} points have no number: see the column error"
