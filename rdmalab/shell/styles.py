"""The colours of what is said. Sixteen of them, and each only repeats what a word or sign says."""

from collections.abc import Mapping

from prompt_toolkit.styles import BaseStyle, Style, merge_styles

from rdmalab.shell.prompt import palette

SAID = {
    "title": "bold underline",
    "note": "italic",
    "error": "ansired bold",
    "caret": "ansired bold",
    "warn": "ansiyellow bold",
    "good": "ansigreen",
    "dim": "ansibrightblack",
    "event": "ansicyan",
    "number": "",
    "name": "bold",
    "string": "ansigreen",
    "state.current": "bold",
    "touched": "reverse",
}


def look(more: Mapping[str, str] | None = None) -> BaseStyle:
    """Prompt, menu and answers; `more` is what a face adds, and lies on top."""
    return merge_styles([palette(), Style.from_dict(SAID), Style.from_dict(dict(more or {}))])
