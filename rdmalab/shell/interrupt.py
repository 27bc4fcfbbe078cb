"""Signals: ^C stops a run between two events; SIGTERM and SIGHUP end the program."""

import asyncio
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

LEAVING = tuple(
    number for name in ("SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None
)
"""Signals after which a face exits, with the terminal restored and the session kept."""
_WAKE_S = 0.5


@contextmanager
def leaving(leave: Callable[[int], None] = sys.exit) -> Iterator[None]:
    """Within this context these signals call `leave` with the exit code, 128 + the number."""

    def left(number: int, _frame: FrameType | None) -> None:
        leave(128 + number)

    before = {number: signal.signal(number, left) for number in LEAVING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


async def until_left(conversing: Coroutine[Any, Any, int]) -> int:
    """Await it; a signal of LEAVING cancels it where it waits, and its exit code is returned.

    An exception out of the handler could fall between two settings of the terminal.
    """
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(conversing)
    codes: list[int] = []

    def leave(code: int) -> None:
        if codes:
            sys.exit(code)  # it was asked twice: a long command is not waited for
        codes.append(code)
        loop.call_soon_threadsafe(task.cancel)

    with leaving(leave):
        try:
            ended = await task
        except asyncio.CancelledError:
            if not codes:
                raise
        return codes[0] if codes else ended


@contextmanager
def awake() -> Iterator[None]:
    """Within this context a read ends within 0.5 s of a signal, whenever that comes.

    The interpreter only notes a signal; its handler runs when a system call returns. One that is
    noted just before the call begins does not interrupt it, so an alarm does.
    """
    if not hasattr(signal, "setitimer"):  # Windows
        yield
        return
    before = signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, _WAKE_S, _WAKE_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


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
