"""Quoted strings: what the text between the quotes says, and how a text is written down."""

import re
import sys

from rdmalab.command import NotUnderstood, Span

_ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", re.DOTALL)
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", '"': '"', "\\": "\\"}
_BACK = {text: f"\\{letter}" for letter, text in _SIMPLE.items() if text != "\0"}


def unquoted(text: str, place: Span) -> str:
    """The value of a quoted string; NotUnderstood at an unknown escape."""
    if len(text) < 2 or not text.endswith('"'):
        raise NotUnderstood("this quote is never closed", place, 'end it with "')

    def words(match: re.Match[str]) -> str:
        letter, digits = match[1][0], match[1][1:]
        if letter in _SIMPLE:
            return _SIMPLE[letter]
        if digits and int(digits, 16) <= sys.maxunicode:
            return chr(int(digits, 16))
        at = place.start + 1 + match.start()
        raise NotUnderstood(
            "no such escape", Span(at, at + len(match[0])), "write \\n \\t or \\x41"
        )

    return _ESCAPE.sub(words, text[1:-1])


def in_quotes(text: str) -> str:
    """The text as a quoted string in which nothing moves the cursor or hides."""
    return '"' + "".join(_BACK.get(c) or escaped(c) for c in text) + '"'


def octets(text: str) -> bytes:
    """The bytes a text stands for in memory: `\\xff` is one byte, `€` is its UTF-8."""
    if all(ord(c) < 256 for c in text):
        return text.encode("latin-1")
    return text.encode("utf-8", "surrogatepass")


def escaped(character: str) -> str:
    """A character that can be seen, or the number of one that moves the cursor or hides."""
    code = ord(character)
    if character.isprintable():
        return character
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
