"""Pauses of a run, for a frame and for the keys that were pressed; calls after a time."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.message_pump import MessagePump

FRAME_S = 0.1  # not more often
_LONGEST_S = 1.0  # and not less often, however long a frame takes
_SHARE = 0.1  # of the processor time of the run that drawing may take
_KEYS_S = 0.02  # keys are read so often
_LATEST_S = 0.2  # for a call after a refresh
_HOPS = 12  # turns of the loop that a key needs from the terminal to its handler


class Pacing:
    """The frames of one run. Measured: without it 100,000 events take 3.5 s instead of 1.5 s."""

    def __init__(self, frame: Callable[[], None]) -> None:
        self._frame = frame
        self.begin()

    def begin(self) -> None:
        """A run begins."""
        self._since, self._drawing_s = time.process_time(), 0.0
        self._drawn_at = self._read_at = time.monotonic()

    async def pause(self) -> None:
        """Between two slices of a run: draw if it is time, and handle keys."""
        now, cpu = time.monotonic(), time.process_time()
        is_cheap = self._drawing_s < _SHARE * (cpu - self._since)
        if now >= self._drawn_at + (FRAME_S if is_cheap else _LONGEST_S):
            self._drawn_at = now
            self._frame()
        elif now - self._read_at < _KEYS_S:
            return
        for _ in range(_HOPS):
            await asyncio.sleep(0)
        self._read_at = time.monotonic()
        self._drawing_s += time.process_time() - cpu


def after(pump: MessagePump, delay_s: float, callback: Callable[[], object]) -> asyncio.TimerHandle:
    """Call a function as one of a widget's callbacks, after so many seconds, while it is there.

    A timer of Textual 8.2 never calls it if the process is held up for as long while the timer
    starts: it takes that for a turn that it has missed. The screen then stays as it was.
    """

    def call() -> None:
        if pump.app.is_running and pump.is_attached:
            callback()

    return asyncio.get_running_loop().call_later(delay_s, pump.call_next, call)


def after_refresh(pump: MessagePump, callback: Callable[[], object]) -> None:
    """Call a function once after the next refresh, within 0.2 s.

    Textual gives such a call to the screen in front; a page that closes meanwhile takes it along.
    """
    waiting = [callback]

    def call() -> None:
        while waiting:
            waiting.pop()()

    pump.call_after_refresh(call)
    after(pump, _LATEST_S, call)
