"""Styles of the output: 16 colours; each colour only repeats what a word or sign states."""

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
    "bad": "ansired",
    "odd": "ansiyellow",
    "busy": "ansibrightblue",
    "key": "ansimagenta",
    "plain": "",
    "dim": "ansibrightblack",
    "event": "ansicyan",
    "number": "",
    "name": "bold",
    "string": "ansigreen",
    "state.current": "bold",
    "touched": "reverse",
}


def prompt_style(more: Mapping[str, str] | None = None) -> BaseStyle:
    """Styles of prompt, menu and replies. more: styles of a face, which override them."""
    return merge_styles([palette(), Style.from_dict(SAID), Style.from_dict(dict(more or {}))])
