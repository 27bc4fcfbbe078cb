"""A key as Textual names it, as the key presses prompt_toolkit expects."""

from __future__ import annotations

import re

from prompt_toolkit.input.ansi_escape_sequences import REVERSE_ANSI_SEQUENCES
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys
from textual.keys import key_to_character

_ESCAPE = KeyPress(Keys.Escape, "\x1b")
_BY_NAME = {key.value: key for key in Keys}
_META = frozenset({"alt", "meta", "super"})
_FUNCTION_KEY = re.compile(r"f(\d+)")

# Only what is called differently on the two sides; all other names can be computed.
_SAME_KEY = {
    "enter": Keys.ControlM,
    "newline": Keys.ControlJ,
    "ctrl+enter": Keys.ControlJ,
    "tab": Keys.ControlI,
    "backspace": Keys.ControlH,
    "shift+backspace": Keys.ControlH,
    "ctrl+backspace": Keys.ControlW,
    "ctrl+at": Keys.ControlAt,
    "ctrl+space": Keys.ControlAt,
    "ctrl+backslash": Keys.ControlBackslash,
    "ctrl+right_square_bracket": Keys.ControlSquareClose,
    "ctrl+circumflex_accent": Keys.ControlCircumflex,
    "ctrl+underscore": Keys.ControlUnderscore,
    "ctrl+slash": Keys.ControlUnderscore,
}


def key_presses(key: str, character: str | None) -> list[KeyPress]:
    """Nothing for a key that prompt_toolkit has no name for."""
    *modifiers, base = key.rsplit("+", key.count("+")) if key != "+" else ["+"]
    held = set(modifiers)
    if base == "enter" and "shift" in held:  # a terminal that tells them apart means: new line
        held = {"alt"}
    prefix = [_ESCAPE] if held & _META else []
    held -= _META
    named = _named_key(held, base)
    if named is not None:
        return [*prefix, _press(named)]
    text = None if "ctrl" in held else _text(held, base, character)
    return [*prefix, KeyPress(text)] if text else []


def _named_key(held: set[str], base: str) -> Keys | None:
    order = [name for name in ("ctrl", "shift") if name in held]
    if same := _SAME_KEY.get("+".join([*order, base])):
        return same
    if "shift" in held and (function := _FUNCTION_KEY.fullmatch(base)):
        # prompt_toolkit counts on where terminals do: Shift+F1 is F13.
        base, order = f"f{int(function[1]) + 12}", [name for name in order if name != "shift"]
    if "ctrl" in held and len(base) == 1 and base.isalpha():
        order = ["ctrl"]
    return _BY_NAME.get("-".join([*(name[0] for name in order), base.lower() if order else base]))


def _text(held: set[str], base: str, character: str | None) -> str | None:
    if character is not None and len(character) == 1 and character.isprintable():
        return character
    typed = key_to_character(base)
    return typed.upper() if typed and "shift" in held else typed


def _press(key: Keys) -> KeyPress:
    return KeyPress(key, REVERSE_ANSI_SEQUENCES.get(key, key.value))
