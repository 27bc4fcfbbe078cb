"""Output filter for a terminal without colour: only bold, underline and reverse."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style
from textual.filter import LineFilter

if TYPE_CHECKING:
    from textual.color import Color


class Colourless(LineFilter):
    """Textual's own filter for NO_COLOR leaves greys."""

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[Style, Style] = {}

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments with bold, underline and reverse only."""
        del background
        return [Segment(text, self._bare(style), control) for text, style, control in segments]

    def _bare(self, style: Style | None) -> Style | None:
        if style is None:
            return None
        if style not in self._known:
            self._known[style] = Style(
                bold=style.bold,
                underline=style.underline,
                reverse=style.reverse,
                meta=style.meta or None,
            )
        return self._known[style]
