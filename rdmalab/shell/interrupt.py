"""Signals: ^C stops a run between two events; SIGTERM and SIGHUP end the program."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

LEAVING = tuple(
    number for name in ("SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None
)
"""Signals after which a face exits, with the terminal restored and the session kept."""


@contextmanager
def leaving() -> Iterator[None]:
    """Within this context these signals raise SystemExit, so that the terminal is restored."""

    def left(number: int, _frame: FrameType | None) -> None:
        sys.exit(128 + number)

    before = {number: signal.signal(number, left) for number in LEAVING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def interrupts(stop: Callable[[], None]) -> Iterator[None]:
    """Within this context SIGINT calls `stop` and does nothing else."""

    def heard(_signal: int, _frame: FrameType | None) -> None:
        stop()

    before = signal.signal(signal.SIGINT, heard)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
