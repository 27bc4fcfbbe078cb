"""Input, output and size of a prompt_toolkit prompt, provided by a pane.

Keys arrive as events, the size is the pane's, nothing is ever written: the pane paints the
prompt's own Screen. No file descriptor, no escape sequence, no timer for a lone Escape.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections import deque
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from prompt_toolkit.data_structures import Size
from prompt_toolkit.input.base import Input
from prompt_toolkit.output import ColorDepth, DummyOutput

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from contextlib import AbstractContextManager
    from types import FrameType
    from typing import Any

    from prompt_toolkit.key_binding import KeyPress

    SignalHandler = Callable[[int, FrameType | None], Any] | int | None


class SigwinchGuard:
    """Keeps Textual's SIGWINCH handler alive while prompt_toolkit comes and goes.

    prompt_toolkit takes the signal when a prompt starts and sets SIG_DFL when it ends, after
    which Textual would not be notified of a resize.
    """

    def __init__(self, wanted: Callable[[], bool] = lambda: True) -> None:
        self._wanted = wanted
        self._present = (
            hasattr(signal, "SIGWINCH") and threading.current_thread() is threading.main_thread()
        )
        self._ours = self._handler()

    @contextmanager
    def around(self) -> Iterator[None]:
        """Spans a whole prompt: it opens before prompt_toolkit takes the signal, closes after."""
        self._ours = self._handler()
        try:
            yield
        finally:
            self.restore()

    def restore(self) -> None:
        """Install Textual's handler again if prompt_toolkit replaced it."""
        # An application that is leaving has given the signal up on purpose: `wanted` says so.
        if self._present and self._ours is not self._handler() and self._wanted():
            signal.signal(signal.SIGWINCH, self._ours)

    def _handler(self) -> SignalHandler:
        return signal.getsignal(signal.SIGWINCH) if self._present else None


class EventInput(Input):
    """A queue of key presses; they are kept while no prompt is active."""

    def __init__(self, guard: SigwinchGuard) -> None:
        self._guard = guard
        self._waiting: deque[KeyPress] = deque()
        self._listener: Callable[[], None] | None = None

    def feed(self, presses: Iterable[KeyPress]) -> None:
        """Queue key presses and notify the active prompt, if any."""
        self._waiting.extend(presses)
        if self._listener is not None:
            self._listener()

    def read_keys(self) -> list[KeyPress]:
        """Remove and return all queued key presses."""
        presses = list(self._waiting)
        self._waiting.clear()
        return presses

    @contextmanager
    def attach(self, input_ready_callback: Callable[[], None]) -> Iterator[None]:
        """Notify this prompt of key presses inside the context, also of those already queued."""
        previous, self._listener = self._listener, input_ready_callback
        if self._waiting:
            asyncio.get_running_loop().call_soon(input_ready_callback)
        try:
            yield
        finally:
            self._listener = previous

    @contextmanager
    def detach(self) -> Iterator[None]:
        """Notify no prompt inside the context; key presses are queued."""
        previous, self._listener = self._listener, None
        try:
            yield
        finally:
            self._listener = previous

    def raw_mode(self) -> AbstractContextManager[None]:
        """A context that keeps Textual's SIGWINCH handler; no terminal is changed."""
        # prompt_toolkit enters this first and leaves it last, which is what the guard needs.
        return self._guard.around()

    def cooked_mode(self) -> AbstractContextManager[None]:
        """A context that changes nothing."""
        return nullcontext()

    def fileno(self) -> int:
        """Raise NotImplementedError: keys are not read from a file."""
        raise NotImplementedError("the keys of a pane come from no file")

    def typeahead_hash(self) -> str:
        """A key that is unique to this input."""
        return f"pane-{id(self)}"

    @property
    def closed(self) -> bool:
        return False


class PaneOutput(DummyOutput):
    """The pane as an output device: a size, the rows taken by the transcript, a bell."""

    def __init__(self, *, bell: Callable[[], None], erase: Callable[[], None]) -> None:
        self.size = Size(rows=10, columns=80)
        self.rows_above = 0
        self._bell = bell
        self._erase = erase

    def get_size(self) -> Size:
        """Rows and columns of the pane."""
        return self.size

    def get_rows_below_cursor_position(self) -> int:
        """Rows left below the transcript; NotImplementedError with fewer than 3."""
        if self.size.rows < 3:
            # An unknown height hides the toolbar, which would leave no row for the prompt.
            raise NotImplementedError
        return max(1, self.size.rows - self.rows_above)

    def get_default_color_depth(self) -> ColorDepth:
        """Always 24 bits; the pane reduces colours where needed."""
        return ColorDepth.DEPTH_24_BIT

    def bell(self) -> None:
        """Ring the bell of the pane."""
        self._bell()

    def erase_screen(self) -> None:
        """Clear the transcript (^L)."""
        self._erase()  # Ctrl-L
