"""Programs: their words besides verbs, and their states."""

from enum import IntEnum, auto
from typing import NamedTuple

PACE_NS = 100  # what a line takes unless it is set


class ProgramState(IntEnum):
    """The state of a program."""

    RUNNING = auto()
    SLEEPING = auto()
    WAITING = auto()  # for something that may never happen
    DONE = auto()
    FAILED = auto()

    @property
    def is_over(self) -> bool:
        """Whether no line is carried out any more."""
        return self in (ProgramState.DONE, ProgramState.FAILED)

    @property
    def is_stuck(self) -> bool:
        """Whether no line is carried out now: it waits, or has failed."""
        return self in (ProgramState.WAITING, ProgramState.FAILED)


class WordRow(NamedTuple):
    """The syntax of a word and its effect."""

    usage: str
    sentence: str
    is_free: bool = False  # takes no time; any other word, and any verb, takes one pace


# fmt: off
WORDS: dict[str, WordRow] = {
    "loop":  WordRow("loop [N]",         "repeats the lines up to its end N times; without N, endlessly", is_free=True),
    "if":    WordRow("if QUESTION",      "runs the lines up to else or end if the condition is true"),
    "else":  WordRow("else",             "begins the lines that run if the condition was false", is_free=True),
    "end":   WordRow("end",              "ends the lines of a loop or an if", is_free=True),
    "wait":  WordRow("wait QUESTION",    "blocks until the condition is true"),
    "poll":  WordRow("poll CQ [until QUESTION]", "polls repeatedly until a completion is read, or until the condition is true"),
    "sleep": WordRow("sleep TIME",       "waits for the given time"),
    "stop":  WordRow("stop",             "ends the program"),
    "try":   WordRow("try [ERRNO] VERB", "continues after any errno of the verb, EAGAIN instead of blocking; with an errno: only after this one"),
}
# fmt: on
FREE = tuple(word for word, row in WORDS.items() if row.is_free)

NOT_FOR_PROGRAMS = "use the current value: A.cq0.total == 4"

# What a verb says where C would block: a program does block there, until it is so no more.
BLOCKING = ("cq-event-none", "cq-events-unacked", "async-none", "async-unacked")

# The verbs of the data path: each acts on queues and memory of its own node, and names nothing.
WORK_VERBS = frozenset({"post_send", "post_recv", "post_srq_recv", "poll_cq", "req_notify_cq"})
