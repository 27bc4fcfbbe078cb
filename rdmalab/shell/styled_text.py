"""Lines of styled text, the output format of all faces."""

import re
from collections.abc import Iterable

from rdmalab.grammar.text import escaped

Fragment = tuple[str, str]
Line = list[Fragment]

_OWN_LINE = re.compile(r"\s|[-*>|#=]|\d+[.)] ")

# What `--ascii` writes instead. Words may grow; what draws keeps its width.
_WORDS = {
    "→": "->", "…": "...", "⇄": "<->", "↔": "<->", "×": "x", "‖": "||", "–": "-", "µ": "u",
    "μ": "u", "≤": "<=", "“": '"', "”": '"', "✓": "ok",
}  # fmt: skip
_DRAWN = {
    **dict.fromkeys("─┄━═", "-"),
    **dict.fromkeys("│┊║┃", "|"),
    **dict.fromkeys("┌┐└┘├┤┬┴┼╔╗╚╝", "+"),
    **dict.fromkeys("▶▷▸", ">"),
    **dict.fromkeys("◀◁", "<"),
    **dict.fromkeys("■●", "#"),
    "◆": "*",
    "▲": "^",
    **dict.fromkeys("□·○", "."),
    "╳": "x",
    "≁": "~",
    "⏲": "@",
    "▪": "o",
    "▫": ":",
}
ASCII = _WORDS | _DRAWN
"""The ASCII replacement of a character."""
_ASCII = str.maketrans(ASCII)
_NOT_PLAIN = re.compile(r"[^\n\t -~]")


def text_of(line: Iterable[Fragment]) -> str:
    """The text of a line without its styles."""
    return "".join(text for _, text in line)


def plain(text: str, style: str = "") -> Line:
    """A line of one style."""
    return [(style, shown(text))]


def shown(text: str) -> str:
    """The text with control and invisible characters replaced."""
    if text.isprintable():
        return text
    return "".join(map(escaped, text))


def harmless(text: str) -> str:
    """As `shown`, but line breaks and tabs stay."""
    return _NOT_PLAIN.sub(lambda found: escaped(found[0]), text)


def harmless_line(line: Iterable[Fragment]) -> Line:
    """A line with control characters replaced."""
    return [(part[0], harmless(part[1])) for part in line]


def in_ascii(line: Line) -> Line:
    """The same line without a character beyond 0x7f."""
    return [
        (style, text.translate(_ASCII).encode("ascii", "replace").decode()) for style, text in line
    ]


def indented(line: Line, by: str) -> Line:
    """The line with `by` before it; unchanged if either is empty."""
    return [("", by), *line] if by and line else line


def paragraphs(text: str) -> list[str]:
    """The lines of a text; the lines of one paragraph are joined.

    A line that is empty, indented or an item of a list stays a line.
    """
    found: list[str] = []
    is_open = False
    for line in text.rstrip().splitlines():
        is_prose = bool(line) and not _OWN_LINE.match(line)
        if is_prose and is_open:
            found[-1] += f" {line}"
        else:
            found.append(line)
        is_open = is_prose
    return found


def fold(line: Line, width: int, hang: int = 4) -> list[Line]:
    """The line in rows of `width` columns, cut at spaces, later rows indented by `hang`."""
    text, width = text_of(line), max(width, 1)
    if len(text) <= width:
        return [line]
    margin = len(text) - len(text.lstrip())
    hang = min(margin + hang, width // 2)
    rows: list[Line] = []
    start = 0
    while start < len(text):
        room = max(1, width - (hang if rows else 0))
        stop = _edge(text, start, room, margin)
        row = _slice(line, start, start + len(text[start:stop].rstrip()))
        rows.append(indented(row, " " * hang) if rows else row)
        start = stop
        while start < len(text) and text[start] == " ":
            start += 1
    return rows


def _edge(text: str, start: int, room: int, margin: int) -> int:
    """The column where a row that begins at `start` ends: after the last word that fits."""
    if len(text) - start <= room:
        return len(text)
    space = text.rfind(" ", max(start, margin) + 1, start + room + 1)
    return space if space > start else start + room


def _slice(line: Line, start: int, stop: int) -> Line:
    """The fragments of columns [start, stop)."""
    cut: Line = []
    at = 0
    for style, text in line:
        part = text[max(0, start - at) : max(0, stop - at)]
        if part:
            cut.append((style, part))
        at += len(text)
    return cut
