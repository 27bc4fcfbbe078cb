"""Event loop of Pyodide with the functions that Textual and prompt_toolkit need.

Pyodide's WebLoop cannot be replaced, so its attributes are. Measured with Pyodide 314.0.7: each
`call_soon` is a task of the browser, and messages of the page come after all of them, so that ^C
stopped an endless run after 0.5 to 4.4 s. With the queue below it takes 36 to 112 ms.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import Context

_SLOW_S = 0.1


class BrowserLoop(Protocol):
    """The parts of WebLoop that are called or replaced here."""

    call_soon: Callable[..., object]
    call_soon_threadsafe: Callable[..., object]
    create_task: Callable[..., object]
    add_signal_handler: Callable[..., object]
    remove_signal_handler: Callable[..., object]
    slow_callback_duration: float

    def call_later(self, delay: float, callback: Callable[[], None]) -> object:
        """Call after so many seconds, as a task of the browser."""

    def get_task_factory(self) -> Callable[..., object] | None:
        """None, or what makes tasks instead of the loop."""


class ReadyQueue:
    """Callbacks that are ready: one task of the browser carries out all that are in the queue.

    As asyncio's own loops do it; between two such turns the page delivers its messages.
    """

    def __init__(self, loop: BrowserLoop) -> None:
        self._loop = loop
        self._ready: deque[asyncio.Handle] = deque()
        self._is_scheduled = False

    def call_soon(
        self, callback: Callable[..., object], *given: object, context: Context | None = None
    ) -> asyncio.Handle:
        """As `loop.call_soon`."""
        handle = asyncio.Handle(callback, given, self._loop, context=context)  # type: ignore[arg-type]
        self._ready.append(handle)
        self._schedule()
        return handle

    def _schedule(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            self._loop.call_later(0, self._turn)

    def _turn(self) -> None:
        self._is_scheduled = False
        for _ in range(len(self._ready)):
            handle = self._ready.popleft()
            if not handle.cancelled():
                handle._run()  # noqa: SLF001  (as asyncio's loops do)
        if self._ready:
            self._schedule()


def complete(loop: BrowserLoop) -> None:
    """Give a WebLoop what it lacks."""
    queue = ReadyQueue(loop)
    loop.call_soon = loop.call_soon_threadsafe = queue.call_soon
    loop.add_signal_handler = lambda *_given: None  # prompt_toolkit: SIGWINCH at each prompt
    loop.remove_signal_handler = lambda *_given: False
    loop.slow_callback_duration = _SLOW_S  # prompt_toolkit reads and sets it
    original = loop.create_task

    def create_task(coroutine: object, **named: object) -> object:
        """WebLoop calls `asyncio.tasks._set_task_name`, which Python 3.14 does not have."""
        factory = loop.get_task_factory()
        if factory is None:
            return original(coroutine, **named)
        return factory(loop, coroutine, **named)

    loop.create_task = create_task
