"""The transcript: printed lines, cut into rows of the given width."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from rich.cells import cell_len

if TYPE_CHECKING:
    from collections.abc import Iterator

    from textual.strip import Strip


class Transcript:
    """The oldest lines go when it is full. `rows` is what a screen shows of it."""

    def __init__(self, limit: int) -> None:
        self.rows: list[Strip] = []
        self._limit = limit
        self._lines: deque[Strip] = deque()
        self._width = 80

    def append(self, line: Strip) -> int:
        """Add lines.

        Returns how many of the oldest rows were dropped, to keep the scroll position.
        """
        self._lines.append(line)
        self.rows += self._cut(line)
        if len(self._lines) <= self._limit:
            return 0
        gone = len(self._cut(self._lines.popleft()))
        del self.rows[:gone]
        return gone

    def wrap(self, width: int) -> None:
        """Cut all lines again into rows of `width` cells."""
        if width != self._width:
            self._width = width
            self.rows = [row for line in self._lines for row in self._cut(line)]

    def clear(self) -> None:
        """Remove all lines."""
        self._lines.clear()
        self.rows = []

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
