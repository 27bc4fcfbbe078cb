"""A browser without a window: what a reader does in it, what a page shows, asks for and logs."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import subprocess

PATIENCE_S = 90.0


def descendants(number: int) -> list[int]:
    """The processes below one, from the table of the kernel."""
    found: list[int] = []
    for file in Path("/proc").glob(f"{number}/task/*/children"):
        with contextlib.suppress(OSError):
            for child in map(int, file.read_text().split()):
                found += [child, *descendants(child)]
    return found


class Browser(ABC):
    """One page at a time, of those that are open. dialogs: what popped up."""

    _process: subprocess.Popen[bytes]

    def __init__(self) -> None:
        self.dialogs: list[str] = []
        self._requests: list[str] = []
        self._errors: list[str] = []

    @property
    def requests(self) -> list[str]:
        """The address of each request that was made, by a page or its workers."""
        self._gather()
        return self._requests

    @property
    def errors(self) -> list[str]:
        """What the consoles say is wrong."""
        self._gather()
        return self._errors

    @abstractmethod
    def _gather(self) -> None:
        """Read what has happened."""

    # ------------------------------------------------------------------ pages
    @abstractmethod
    def open(self, address: str) -> None:
        """Open a page and wait until it is read, its scripts included."""

    @abstractmethod
    def reload(self) -> None:
        """Read the page again."""

    @abstractmethod
    def tab(self) -> str:
        """Open a tab and go on in it; returns the name of the one before, for `turn_to`."""

    @abstractmethod
    def turn_to(self, tab: str) -> str:
        """Go on in another tab; returns the name of this one."""

    @abstractmethod
    def turn_into_frame(self) -> str:
        """Go on in the frame of another site; returns the name of the page, for `turn_to`."""

    @abstractmethod
    def _value(self, expression: str, *, awaited: bool) -> Any:
        """The value of an expression on the page. awaited: it is a promise."""

    def ask(self, expression: str) -> Any:
        """The value of an expression on the page."""
        return self._value(expression, awaited=False)

    def eventually(self, promise: str) -> Any:
        """What a promise of the page comes to."""
        return self._value(promise, awaited=True)

    def wait(self, condition: str) -> None:
        """Wait until an expression is true on the page."""
        until = time.monotonic() + PATIENCE_S
        while not self.ask(condition):
            assert time.monotonic() < until, condition
            time.sleep(0.01)

    # ------------------------------------------------------------------ what a reader does
    @abstractmethod
    def press(self, key: str, *, control: bool = False) -> None:
        """Press a key, by the name that its event has. control: with Ctrl."""

    @abstractmethod
    def type(self, text: str) -> None:
        """Write into the field that has the focus."""

    @abstractmethod
    def mouse(self, x: float, y: float) -> None:
        """Click at a place, in pixels: it counts as of the user."""

    @abstractmethod
    def touch(self, x: float, y: float) -> None:
        """Tap with a finger."""

    @abstractmethod
    def resize(self, width: int, height: int, *, touch: bool = False) -> None:
        """The size of the page, in pixels. touch: as of a tablet, which has no mouse."""

    @abstractmethod
    def dark(self, *, is_dark: bool) -> None:
        """Prefer dark colours, or light ones."""

    @abstractmethod
    def picture(self) -> bytes:
        """The page as it is seen, as PNG."""

    # ------------------------------------------------------------------ the end
    def close(self) -> None:
        """End the browser."""
        self._process.terminate()
        self._ended()

    def kill(self) -> None:
        """End the browser and all its processes at once, as a machine does that loses its power."""
        for number in (self._process.pid, *descendants(self._process.pid)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        self._ended()

    def _ended(self) -> None:
        self._process.wait(PATIENCE_S)
