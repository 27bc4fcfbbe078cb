"""Exit codes, and what kind of terminal there is; needs no parser of options."""

import os
import sys
from enum import IntEnum

PIPE_CLOSED = 128 + 13  # what a shell says of a program that SIGPIPE ended


class Exit(IntEnum):
    """The exit codes."""

    WELL = 0
    FAILED = 1
    USAGE = 2
    BUG = 3
    NOTHING = 5
    INTERRUPTED = 130


def at_terminal() -> bool:
    """Whether standard input and output are terminals."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def is_dumb() -> bool:
    """Whether the terminal cannot move its cursor."""
    return os.environ.get("TERM") == "dumb"
