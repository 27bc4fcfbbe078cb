"""^C while something runs: heard at once, obeyed between two events."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interrupts(stop: Callable[[], None]) -> Iterator[None]:
    """Inside, SIGINT calls `stop` and nothing else."""

    def heard(_signal: int, _frame: FrameType | None) -> None:
        stop()

    before = signal.signal(signal.SIGINT, heard)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
