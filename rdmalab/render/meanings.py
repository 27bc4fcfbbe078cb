"""The sign, the word and the tone of each meaning."""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from rdmalab.views.columns import Meaning


class Tone(StrEnum):
    """A group of meanings that have one colour; the value is its name in every style sheet."""

    PLAIN = "plain"
    DIM = "dim"
    GOOD = "good"
    BAD = "bad"
    ODD = "odd"  # refused, or worth a look
    BUSY = "busy"
    EVENT = "event"  # events, headings and verbs
    KEY = "key"  # numbers


class Appearance(NamedTuple):
    """sign: one column, stands before the text, or empty. word: says the same, for legends."""

    tone: Tone
    sign: str = ""
    word: str = ""
    bold: bool = False


APPEARANCES: dict[Meaning, Appearance] = {
    Meaning.PLAIN: Appearance(Tone.PLAIN),
    Meaning.NAME: Appearance(Tone.PLAIN, bold=True),
    Meaning.NUMBER: Appearance(Tone.PLAIN),
    Meaning.EVENT: Appearance(Tone.EVENT),
    Meaning.DIM: Appearance(Tone.DIM),
    Meaning.OK: Appearance(Tone.GOOD, "✓", "done"),
    Meaning.FAILED: Appearance(Tone.BAD, "✗", "failed", bold=True),
    Meaning.REFUSED: Appearance(Tone.ODD, "!", "refused", bold=True),
    Meaning.LOST: Appearance(Tone.BAD, "╳", "lost", bold=True),
    Meaning.FLUSHED: Appearance(Tone.BAD, "✗", "flushed"),
    Meaning.ATTENTION: Appearance(Tone.ODD, "!", "look here", bold=True),
    Meaning.UNDER_WAY: Appearance(Tone.BUSY, "▶", "under way"),
    Meaning.WAITING: Appearance(Tone.BUSY, "◷", "waiting"),
    Meaning.CURRENT: Appearance(Tone.BUSY, "●", "now", bold=True),
    Meaning.PLANNED: Appearance(Tone.DIM, "·", "planned"),
}


LEAST_CONTRAST = 4.5
"""Of text on its ground: WCAG 2.1, success criterion 1.4.3."""


class Theme(NamedTuple):
    """grounds: of the screen, of a raised part, of a bar or a chosen row. on: text on a tone.

    edge: the contrast of lines between panes with the ground, 1 to 21.
    """

    is_dark: bool
    grounds: tuple[str, str, str]
    on: str
    tones: Mapping[Tone, str]
    edge: float = 2.0


def _tones(colours: str) -> dict[Tone, str]:
    """Colours in the order of the tones."""
    return dict(zip(Tone, colours.split(), strict=True))


# Tones: plain dim good bad odd busy event key.
THEMES: dict[str, Theme] = {
    "dark": Theme(
        True,
        ("#0e1420", "#151d2e", "#22304a"),
        "#0e1420",
        _tones("#e8edf7 #9dabc6 #8fe07a #ff8791 #ffcf5c #70b7ff #6fe0e8 #c3a6ff"),
    ),
    "light": Theme(
        False,
        ("#fcfcfa", "#f1f3f0", "#dde3e8"),
        "#ffffff",
        _tones("#171c26 #4d5768 #1b6a2a #ac1e2a #7a4900 #0a52ab #09616f #653cab"),
    ),
    "contrast": Theme(
        True,
        ("#000000", "#000000", "#333333"),
        "#000000",
        _tones("#ffffff #d6d6d6 #7dff6b #ff9a9a #ffff00 #7fc8ff #00ffff #ffb3ff"),
        3.0,
    ),
}  # fmt: skip
"""By name. A fourth choice are the colours of the terminal; their values are not known here."""


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours `#rrggbb`, 1 to 21, as WCAG defines it."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return _weighed(red, green, blue)


def is_dark(*parts: str | bytes) -> bool:
    """Whether a terminal's colour is dark. parts: red, green, blue, 1 to 4 hex digits each."""
    return _weighed(*(int(part, 16) / (16 ** len(part) - 1) for part in parts)) < _HALF


def _weighed(red: float, green: float, blue: float) -> float:
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


_HALF = 0.5
