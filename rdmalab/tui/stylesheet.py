"""The style sheet: the sixteen colours of any terminal, and what stands for them without colour.

Colour only repeats what brackets, words or borders say already.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rdmalab.shell.styles import look

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prompt_toolkit.styles import BaseStyle

_FRAMES = {
    "frame": "ansibrightblack",
    "state.current": "bold ansigreen",
    "note": "ansiyellow",
    "frame.focused": "ansicyan bold",
    "frame.title": "bold ansicyan",
    "frame.tab": "",
    "marked": "reverse",
    "bar": "reverse",
    "bar.key": "reverse bold",
    "bar.alert": "reverse bold ansired",
    "bar.past": "noreverse bold ansiyellow",
}
_COLOURLESS = {
    "warn": "bold",
    "error": "bold",
    "state.current": "bold reverse",
    "frame.title": "bold",
    "bar.key": "reverse bold underline",
    "bar.alert": "reverse bold underline",
    "bar.past": "noreverse bold underline",
}


def sheet(*, colour: bool) -> BaseStyle:
    """The styles of the panes, on top of those that all faces have."""
    return look(_FRAMES if colour else {**_FRAMES, **_COLOURLESS})


def ascii_wanted(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether only ASCII is used."""
    if wish := environ.get("RDMALAB_ASCII", ""):
        return wish != "0"
    return environ.get("TERM", "") in ("linux", "dumb")
