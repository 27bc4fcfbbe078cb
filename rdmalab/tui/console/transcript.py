"""The transcript: printed lines, folded into rows of the given width."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len

from rdmalab.shell.styled_text import Line, Row, relaid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from textual.strip import Strip


class _Printed(NamedTuple):
    """A line, or the first row of a text, and the rows that are shown."""

    line: Line
    rows: list[Strip]


class Transcript:
    """The oldest lines go when it is full. `rows` is what a screen shows of it.

    draw: a row of styled text as a Strip.
    """

    def __init__(self, limit: int, draw: Callable[[Line], Strip]) -> None:
        self.rows: list[Strip] = []
        self._limit = limit
        self._draw = draw
        self._lines: deque[_Printed] = deque()
        self._width = 80

    def append(self, line: Line) -> int:
        """Add a line; the first row of a text adds the whole text, and its other rows nothing.

        Returns how many of the oldest rows were dropped, to keep the scroll position.
        """
        if isinstance(line, Row) and line.nth:
            if self._lines and isinstance(self._lines[-1].line, Row):
                return 0
            line = list(line)
        self._lines.append(self._printed(line))
        self.rows += self._lines[-1].rows
        if len(self._lines) <= self._limit:
            return 0
        gone = len(self._lines.popleft().rows)
        del self.rows[:gone]
        return gone

    def wrap(self, width: int) -> None:
        """Fold all lines again into rows of `width` cells."""
        if width != self._width:
            self._width = width
            self.redraw()

    def redraw(self) -> None:
        """Draw all lines again."""
        self._lines = deque(self._printed(line) for line, _ in self._lines)
        self.rows = [row for each in self._lines for row in each.rows]

    def clear(self) -> None:
        """Remove all lines."""
        self._lines.clear()
        self.rows = []

    def _printed(self, line: Line) -> _Printed:
        drawn = relaid([line], self._width) if isinstance(line, Row) else [line]
        return _Printed(line, [row for each in drawn for row in self._cut(self._draw(each))])

    def _cut(self, line: Strip) -> list[Strip]:
        if line.cell_length <= self._width:
            return [line]
        return list(line.divide([*_edges(line.text, self._width), line.cell_length]))


def _edges(text: str, width: int) -> Iterator[int]:
    """The ends of the rows: after a word, if one ends in the second half of the row.

    A wide character is never cut in two, so a row may be a cell short.
    """
    at = start = word = 0
    for character in text:
        cells = cell_len(character)
        if at + cells - start > width:
            start = word if word - start > width // 2 else at
            yield start
        at += cells
        word = at if character == " " else word
