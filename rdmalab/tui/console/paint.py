"""Output of prompt_toolkit as Strips for Textual: styles and rows."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from rdmalab.shell.styled_text import harmless

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from prompt_toolkit.layout.screen import Char
    from prompt_toolkit.styles import BaseStyle

# Both palettes have sixteen colours, but they disagree on what is called white.
_WHITES = {"ansigray": "white", "ansiwhite": "bright_white"}
_INHERITED = frozenset({"", "default", "ansidefault", None})


def colour_name(name: str | None) -> str | None:
    """A colour of prompt_toolkit as Rich calls it; None inherits the widget's."""
    if name in _INHERITED or name is None:
        return None
    if not name.startswith("ansi"):
        return f"#{name}"
    return _WHITES.get(name) or name.removeprefix("ansi").replace("bright", "bright_")


class Paint:
    """Converts prompt_toolkit styles, lines and rows to those of Rich and Textual."""

    def __init__(self, styles: BaseStyle, *, colour: bool) -> None:
        self.colour = colour
        self._styles = styles
        self._known: dict[str, Style] = {}

    def style(self, words: str) -> Style:
        """The Rich style of prompt_toolkit style words; results are cached."""
        if words not in self._known:
            self._known[words] = self._translate(words)
        return self._known[words]

    def line(self, fragments: Iterable[tuple[str, str]]) -> Strip:
        """One line of formatted text; it cannot speak to the terminal."""
        return Strip(
            Segment(harmless(text).expandtabs(8), self.style(words))
            for words, text in fragments
            if "[ZeroWidthEscape]" not in words
        )

    def row(self, cells: Mapping[int, Char], columns: int, cursor: int | None) -> Strip:
        """One row of a Screen; the cursor is painted, so that it needs no terminal and no blink."""
        runs = groupby(_styled(cells, columns, cursor), key=itemgetter(0))
        return Strip(
            Segment("".join(text for _, text in run), self.style(words)) for words, run in runs
        )

    def _translate(self, words: str) -> Style:
        attrs = self._styles.get_attrs_for_style_str(words)
        drawn = Style(
            bold=attrs.bold or None,
            underline=attrs.underline or None,
            reverse=attrs.reverse or None,
        )
        if not self.colour:
            return drawn
        return drawn + Style(
            color=colour_name(attrs.color),
            bgcolor=colour_name(attrs.bgcolor),
            italic=attrs.italic or None,
            strike=attrs.strike or None,
        )


def _styled(
    cells: Mapping[int, Char], columns: int, cursor: int | None
) -> Iterator[tuple[str, str]]:
    x = 0
    while x < columns:
        cell = cells[x]
        yield (f"{cell.style} reverse" if x == cursor else cell.style), cell.char
        x += max(1, cell.width)


def plain(rows: Iterable[Strip]) -> str:
    """The text of the rows, without spaces at the line ends."""
    return "\n".join(row.text.rstrip() for row in rows)
