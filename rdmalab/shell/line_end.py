"""How a line that was typed ended; decides exit codes, and whether a script goes on."""

from enum import Enum, auto


class LineEnd(Enum):
    """The outcome of one line; of several commands in it, that of the last one carried out."""

    FINE = auto()
    FAILED = auto()  # a verb answered with an errno, or an expectation of a scenario failed
    NOT_UNDERSTOOD = auto()
    STOPPED = auto()  # ^C
    BUG = auto()  # an unexpected exception
    LEFT = auto()  # quit
