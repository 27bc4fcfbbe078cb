"""Programs: the words they have besides verbs, and the states in which they can be."""

from enum import IntEnum, auto
from typing import NamedTuple

PACE_NS = 100  # what a line takes if nobody says otherwise


class ProgramState(IntEnum):
    """How a program stands."""

    RUNNING = auto()
    SLEEPING = auto()
    WAITING = auto()  # for something that may never happen
    DONE = auto()
    FAILED = auto()


class WordRow(NamedTuple):
    """How a word is written, and what it does."""

    usage: str
    sentence: str
    is_free: bool = False  # takes no time; any other word, and any verb, takes one pace


# fmt: off
WORDS: dict[str, WordRow] = {
    "loop":  WordRow("loop [N]",         "does the lines up to its end N times, without N for ever", is_free=True),
    "if":    WordRow("if QUESTION",      "does the lines up to else or end only if the answer is yes"),
    "else":  WordRow("else",             "begins what is done if the answer was no", is_free=True),
    "end":   WordRow("end",              "ends the lines of a loop or an if", is_free=True),
    "wait":  WordRow("wait QUESTION",    "blocks until the answer is yes"),
    "poll":  WordRow("poll CQ [until QUESTION]", "polls again and again until something came, or until the answer is yes"),
    "sleep": WordRow("sleep TIME",       "does nothing for a while"),
    "stop":  WordRow("stop",             "ends the program"),
    "try":   WordRow("try [ERRNO] VERB", "goes on whatever the verb answers, EAGAIN instead of blocking; with an errno, only if it is that"),
}
# fmt: on
FREE = tuple(word for word, row in WORDS.items() if row.is_free)

NOT_FOR_PROGRAMS = "ask for what is there now: A.cq0.total == 4"

# What a verb says where C would block: a program does block there, until it is so no more.
BLOCKING = ("cq-event-none", "cq-events-unacked", "async-none", "async-unacked")
