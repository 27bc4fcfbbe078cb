"""Ask the terminal what it is and what it does: it answers on standard input.

Everything is asked at once and ends with a question that every terminal answers, so that a
terminal that knows only some of the questions costs no waiting.
"""

import os
import re
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

_WAIT_S = 1.0
_LEAST_WAIT_S = 0.01
_BACKGROUND = "\x1b]11;?\x1b\\"  # OSC 11 with a question mark
_WHERE = "\x1b[6n"  # cursor position report: ESC [ row ; column R
_WHO = "\x1b[c"  # primary device attributes: ESC [ ? … c
_CLEAR = "\r\x1b[K"
_PLACE = re.compile(r"\x1b\[\d+;(\d+)R")
_COLOUR = re.compile(r"\x1b\]11;rgba?:([0-9a-f]+)/([0-9a-f]+)/([0-9a-f]+)", re.IGNORECASE)
_ATTRIBUTES = re.compile(r"\x1b\[\?([0-9;]*)c")
_WEIGHTS = (0.2126, 0.7152, 0.0722)  # of red, green and blue in the luminance


@dataclass(frozen=True, slots=True)
class TerminalAnswers:
    """Answers of a terminal.

    widths: columns that each character took; empty: it does not report the cursor. light: whether
    the background is light; None: no answer. attributes: numbers of its device attributes; None:
    no answer at all.
    """

    widths: dict[str, int]
    light: bool | None
    attributes: frozenset[int] | None


def ask(characters: Sequence[str]) -> TerminalAnswers | None:
    """The answers of the terminal; None if there is none that could answer."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or os.environ.get("TERM") == "dumb":
        return None
    try:
        with _raw(sys.stdin.fileno()):
            probes = "".join(f"\r{character}{_WHERE}" for character in characters)
            os.write(sys.stdout.fileno(), f"{probes}{_CLEAR}{_BACKGROUND}{_WHO}".encode())
            return answers(_received(sys.stdin.fileno()), characters)
    except (ImportError, OSError, UnicodeEncodeError):  # no termios, no such device
        return None


def answers(received: str, characters: Sequence[str]) -> TerminalAnswers:
    """The answers in what was received; a column is 1 more than the characters before it."""
    places = [int(column) - 1 for column in _PLACE.findall(received)]
    is_whole = len(places) == len(characters)
    colour = _COLOUR.search(received)
    attributes = _ATTRIBUTES.search(received)
    return TerminalAnswers(
        dict(zip(characters, places, strict=True)) if is_whole else {},
        _is_light(colour.groups()) if colour is not None else None,
        frozenset(map(int, re.findall(r"\d+", attributes[1]))) if attributes is not None else None,
    )


def _is_light(parts: Sequence[str]) -> bool:
    shares = (int(part, 16) / (16 ** len(part) - 1) for part in parts)
    return sum(map(float.__mul__, shares, _WEIGHTS)) > 0.5


@contextmanager
def _raw(descriptor: int) -> Iterator[None]:
    """The terminal without echo and line buffering; what is typed ahead is lost."""
    import termios
    import tty

    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor)
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSAFLUSH, before)


def _received(descriptor: int) -> str:
    """Characters received until the device attributes, or until `_WAIT_S` seconds have passed."""
    import select

    received, end = "", time.monotonic() + _WAIT_S
    while _ATTRIBUTES.search(received) is None:
        left = max(_LEAST_WAIT_S, end - time.monotonic())
        if not select.select([descriptor], [], [], left)[0] or time.monotonic() > end:
            break
        received += os.read(descriptor, 4096).decode("latin-1")
    return received
