"""Lines of styled text, the output format of all faces."""

import re
from collections.abc import Callable, Iterable
from functools import partial

from rdmalab.grammar.text import escaped

Fragment = tuple[str, str]
Line = list[Fragment]

_OWN_LINE = re.compile(r"\s|[-*>|#=]|\d+[.)] ")

# What `--ascii` writes instead. Words may grow; what draws keeps its width.
_WORDS = {
    "→": "->", "←": "<-", "…": "...", "⇄": "<->", "↔": "<->", "×": "x", "‖": "||", "–": "-",
    "−": "-", "µ": "u", "μ": "u", "≤": "<=", "“": '"', "”": '"', "›": ">", "✓": "ok", "✗": "x",
    "◷": "~",
}  # fmt: skip
_DRAWN = {
    **dict.fromkeys("─┄━═‾", "-"),
    **dict.fromkeys("│┊║┃", "|"),
    **dict.fromkeys("┌┐└┘├┤┬┴┼╔╗╚╝┏┓┗┛", "+"),
    **dict.fromkeys("╭╮", "."),
    **dict.fromkeys("╰╯", "'"),
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
    **dict.fromkeys("▌▏", "|"),
    **dict.fromkeys("▾▼", "v"),
    "↺": "^",
    "⏎": "/",
    "�": "?",
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
    """Line without a character beyond 0x7f."""
    found = [
        (style, text.translate(_ASCII).encode("ascii", "replace").decode()) for style, text in line
    ]
    if not isinstance(line, Row):
        return found
    return Row(found, lambda width: list(map(in_ascii, line.lay(width))), line.nth)


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


Lay = Callable[[int], list[Line]]


class Row(Line):
    """A row of a text that can be laid out again for another width.

    lay: all rows of the text for a width in columns. nth: which of them this one is, from 0.
    """

    def __init__(self, row: Line, lay: Lay, nth: int) -> None:
        super().__init__(row)
        self.lay, self.nth = lay, nth


def laid(lay: Lay, width: int) -> list[Line]:
    """The rows for a width, each of which knows how to lay the text out again."""
    return [Row(row, lay, nth) for nth, row in enumerate(lay(width))]


def relaid(lines: Iterable[Line], width: int) -> list[Line]:
    """The lines laid out for another width; a row that is longer all the same is cut."""
    again = (line.lay(width) if isinstance(line, Row) else [line]
             for line in lines if not (isinstance(line, Row) and line.nth))  # fmt: skip
    return [row for found in again for line in found for row in fold(line, width)]


def rows(line: Line, width: int, hang: int = 4) -> list[Line]:
    """As `fold`; each row knows the line. A row of a text that was laid out stays as it is."""
    if isinstance(line, Row):
        return [line]
    return laid(partial(fold, line, hang=hang), width)


def fold(line: Line, width: int, hang: int = 4) -> list[Line]:
    """The line in rows of `width` columns, cut at spaces, later rows indented by `hang`.

    A number and its unit stay in one row, and so do the words of `ev 25`.
    """
    text, width = text_of(line), max(width, 1)
    if len(text) <= width:
        return [line]
    text = _BEFORE_A_UNIT.sub("\0", text)
    margin = len(text) - len(text.lstrip())
    hang = min(margin + hang, width // 2)
    found: list[Line] = []
    start = 0
    while start < len(text):
        room = max(1, width - (hang if found else 0))
        stop = _edge(text, start, room, margin)
        row = _slice(line, start, start + len(text[start:stop].rstrip()))
        found.append(indented(row, " " * hang) if found else row)
        start = stop
        while start < len(text) and text[start] == " ":
            start += 1
    return found


_BEFORE_A_UNIT = re.compile(r"(?<=[0-9]) (?=(?:[num]?s|B)\b)|(?<=\bev) (?=[0-9])")


def _edge(text: str, start: int, room: int, margin: int) -> int:
    """The column where a row that begins at `start` ends: after the last word that fits.

    A word that is longer than the row ends at a flag, a key or a part of its name.
    """
    if len(text) - start <= room:
        return len(text)
    space = text.rfind(" ", max(start, margin) + 1, start + room + 1)
    joints = (text.rfind(sign, start, start + room) + 1 for sign in "|=_")
    return space if space > start else next(filter(start.__lt__, joints), start + room)


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
