"""The sign, the word and the tone of each meaning."""

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


class Look(NamedTuple):
    """sign: one column, stands before the text, or empty. word: says the same, for legends."""

    tone: Tone
    sign: str = ""
    word: str = ""
    bold: bool = False


LOOKS: dict[Meaning, Look] = {
    Meaning.PLAIN: Look(Tone.PLAIN),
    Meaning.NAME: Look(Tone.PLAIN, bold=True),
    Meaning.NUMBER: Look(Tone.PLAIN),
    Meaning.EVENT: Look(Tone.EVENT),
    Meaning.DIM: Look(Tone.DIM),
    Meaning.OK: Look(Tone.GOOD, "✓", "done"),
    Meaning.FAILED: Look(Tone.BAD, "✗", "failed", bold=True),
    Meaning.REFUSED: Look(Tone.ODD, "!", "refused", bold=True),
    Meaning.LOST: Look(Tone.BAD, "╳", "lost", bold=True),
    Meaning.FLUSHED: Look(Tone.BAD, "✗", "flushed"),
    Meaning.ATTENTION: Look(Tone.ODD, "!", "look here", bold=True),
    Meaning.UNDER_WAY: Look(Tone.BUSY, "▶", "under way"),
    Meaning.WAITING: Look(Tone.BUSY, "◷", "waiting"),
    Meaning.CURRENT: Look(Tone.BUSY, "●", "now", bold=True),
    Meaning.PLANNED: Look(Tone.DIM, "·", "planned"),
}
