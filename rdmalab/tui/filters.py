"""Filters of the output, for a terminal without colour, and for one that only has ASCII."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style
from textual.filter import LineFilter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual.color import Color


def ascii_wanted(wanted: bool | None = None, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether only ASCII is used. wanted: the setting; None: if the terminal has nothing else."""
    return environ.get("TERM", "") in ("linux", "dumb") if wanted is None else wanted


_BLOCKS = "█▁▂▃▄▅▆▇▉▊▋▌▍▎▏▐"


class Colourless(LineFilter):
    """Leaves bold, underline and reverse; Textual's own filter for NO_COLOR leaves greys."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments without colour."""
        return [Segment(text, style and _bare(style), control) for text, style, control in segments]


@lru_cache(1024)
def _bare(style: Style) -> Style:
    return Style(
        bold=style.bold, underline=style.underline, reverse=style.reverse, meta=style.meta or None
    )


class Ascii(LineFilter):
    """Writes each character beyond ASCII as one of ASCII, so that nothing moves."""

    def __init__(self) -> None:
        from rdmalab.shell.styled_text import ASCII

        super().__init__()
        one = {sign: text[0] for sign, text in ASCII.items()}
        one |= {"→": ">", "⇄": "=", "↔": "=", "✓": "v", "░": ".", **dict.fromkeys(_BLOCKS, "#")}
        self._table = str.maketrans(one)

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments in ASCII."""
        return [
            Segment(text if text.isascii() else self._spelled(text), style, control)
            for text, style, control in segments
        ]

    def _spelled(self, text: str) -> str:
        return text.translate(self._table).encode("ascii", "replace").decode()
