"""Choose the lines of a pane when it has too few rows or columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rdmalab.shell.styled_text import Line

# What gives way first when there are fewer rows: the highest.
ALWAYS, HEAD, USEFUL, MORE, REST = range(0, 500, 100)

RankedLine = tuple[int, "list[Line]"]
"""An importance, and lines that are shown together or not at all."""


def fitted(ranked: list[RankedLine], height: int) -> list[Line]:
    """The most important lines that fit, in their order."""
    kept: set[int] = set()
    room = height
    for at in sorted(range(len(ranked)), key=lambda at: ranked[at][0]):
        if len(ranked[at][1]) <= room:
            kept.add(at)
            room -= len(ranked[at][1])
    return [line for at in sorted(kept) for line in ranked[at][1]]


def with_room(line: Line, more: Line, width: int) -> Line:
    """A line with as many further words as fit."""
    for fragment in more:
        if sum(len(text) for _, text in [*line, fragment]) > width:
            break
        line = [*line, fragment]
    return line


def numbered(rank: int, lines: list[Line]) -> list[RankedLine]:
    """Lines of a list, indented; later ones are dropped first."""
    return [(rank + 3 * n, [[("", "   "), *line]]) for n, line in enumerate(lines)]
