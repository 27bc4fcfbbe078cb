"""The frame of a pane in characters; a double border shows the focus without colour."""

from __future__ import annotations

from typing import NamedTuple

from rich.cells import cell_len

from rdmalab.shell.styled_text import Line, text_of

FOCUSED, TITLE, TAB = "class:frame.focused", "class:frame.title", "class:frame.tab"


class Border(NamedTuple):
    """The six characters of a frame."""

    left_top: str
    right_top: str
    left_bottom: str
    right_bottom: str
    across: str
    down: str


PLAIN, DOUBLE = Border(*"┌┐└┘─│"), Border(*"╔╗╚╝═║")
ASCII, ASCII_DOUBLE = Border(*"++++-|"), Border(*"####=#")


def border(*, focused: bool, ascii_only: bool) -> Border:
    """The characters of a frame; a focused one is double, in ASCII `#` and `=`."""
    if ascii_only:
        return ASCII_DOUBLE if focused else ASCII
    return DOUBLE if focused else PLAIN


def edge(drawn: Border, width: int, title: Line, style: str, *, bottom: bool = False) -> Line:
    """The top or bottom row with a title in it; the title is cut where it does not fit."""
    left, right = drawn.left_top, drawn.right_top
    if bottom:
        left, right = drawn.left_bottom, drawn.right_bottom
    if width < 2:
        return [(style, left[:width])]
    title = _stripped(cropped(title, width - 6)) if width > 8 else []
    said = f"{drawn.across} " if title else ""
    gap = " " if title else ""
    rest = width - 2 - len(said) - width_of(title) - len(gap)
    return [(style, left + said), *title, (style, gap + drawn.across * rest + right)]


def _stripped(line: Line) -> Line:
    """Without blanks at the end, which would look like a gap in the border."""
    line = list(line)
    while line and not line[-1][1].strip():
        line.pop()
    return [*line[:-1], (line[-1][0], line[-1][1].rstrip())] if line else line


def width_of(line: Line) -> int:
    """In cells: a wide character takes two."""
    return cell_len(text_of(line))


def cropped(line: Line, width: int) -> Line:
    """The line, or its beginning and an ellipsis."""
    if width_of(line) <= width:
        return line
    cut: Line = []
    room = max(0, width - 1)
    for style, text in line:
        part = _beginning(text, room)
        cut.append((style, part))
        room -= cell_len(part)
        if part != text:
            break
    end = "…" if width > 0 else ""
    return [fragment for fragment in (*cut, ("", end)) if fragment[1]]


def _beginning(text: str, cells: int) -> str:
    while cell_len(text) > cells:
        text = text[: max(0, min(len(text) - 1, cells))]
    return text


def title_of_tabs(tabs: list[str], chosen: int, width: int = 10_000) -> Line:
    """`1 Wire│[2 Mem]│…`: the chosen one in brackets; the others by number where room is short."""
    line = _tabs(tabs, chosen)
    if width_of(line) > width:
        line = _tabs([t if n == chosen else t[:1] for n, t in enumerate(tabs)], chosen)
    return line


def _tabs(tabs: list[str], chosen: int) -> Line:
    line: Line = []
    for number, name in enumerate(tabs):
        line.append(("", "│" if line else ""))
        line.append((TITLE, f"[{name}]") if number == chosen else (TAB, f" {name} "))
    line = [fragment for fragment in line if fragment[1]]
    return [(line[0][0], line[0][1].lstrip()), *line[1:]] if line else line
