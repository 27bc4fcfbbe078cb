"""Textual's driver for a page: escape sequences leave as messages, keys and sizes arrive as such.

Without threads, file descriptors and signals: a worker of a page has one event loop.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from textual import events
from textual._xterm_parser import XTermParser  # Textual's drivers share it; it has no public name
from textual.driver import Driver
from textual.geometry import Size

from rdmalab.spec.row import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from textual.app import App
    from textual.message import Message

# Alternate screen, mouse buttons, mouse motion, SGR coordinates, bracketed paste.
_MODES = ("?1049", "?1000", "?1003", "?1006", "?2004")
_HIDE, _SHOW = "\x1b[?25l\x1b[?7l", "\x1b[?7h\x1b[?25h"  # cursor and automatic line wrap
_ASK_SYNCHRONIZED = "\x1b[?2026$p"  # xterm.js answers that it draws whole frames


@dataclass(slots=True)
class Glass:
    """The terminal of the page. send: writes to it. size: columns and rows that it has now.

    driver: of the application that runs, None before its first frame. early: what was typed before
    the prompt could read it.
    """

    send: Callable[[str], None]
    size: Callable[[], tuple[int, int]]
    driver: PageDriver | None = None
    early: list[str] = field(default_factory=list)
    is_ready: bool = False

    def receive(self, data: str) -> None:
        """Hand on what xterm.js reports, not before `set`."""
        if self.driver is not None and self.is_ready:
            self.driver.receive(data)
        elif not self.is_ready:
            self.early.append(data)

    def set(self) -> None:
        """The prompt has the focus."""
        self.is_ready = True
        for data in self.early:
            self.receive(data)
        self.early.clear()


class _Parser(XTermParser):
    """Reads messages of the page, which are whole sequences.

    A terminal sends bytes, so that Textual waits 100 ms whether Escape begins a sequence. What is
    typed meanwhile became a part of it: Escape, Ctrl+U and a line had no effect.
    """

    def end(self) -> Iterable[Message]:
        """Read what has arrived as if nothing followed."""
        if self._timeout_time is None:
            return ()
        self._timeout_time = 0.0
        return self.tick()


class PageDriver(Driver):
    """Reads and writes a `Glass`; `driver_of` binds the class to one."""

    glass: Glass

    def __init__(
        self, app: App[int], *, debug: bool = False, mouse: bool = True,
        size: tuple[int, int] | None = None,
    ) -> None:  # fmt: skip
        # Else the first layout is one of 80x24 where there is no terminal, and meets the Resize of
        # the page: Textual 8.2.8 answers each layout of another size with one more, without end.
        size = size or Size(*self.glass.size())
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self._parser = _Parser()
        self._waiting: list[str] = []
        self.glass.driver = self

    @property
    def ready(self) -> Glass:
        """The terminal, which is `set` by the app when its prompt has the focus."""
        return self.glass

    @property
    def is_web(self) -> bool:
        """True: the app is shown by a browser."""
        return True

    # ---- out ------------------------------------------------------------------------------------

    def write(self, data: str) -> None:
        """Send what one turn of the loop writes as one message: Textual writes a frame in three."""
        if not self._waiting:
            self._loop.call_soon(self.flush)
        self._waiting.append(data)

    def flush(self) -> None:
        """Send now what was written."""
        text = "".join(self._waiting)
        self._waiting.clear()
        if text:
            self.glass.send(text)

    # ---- in -------------------------------------------------------------------------------------

    def receive(self, data: str) -> None:
        """Read what xterm.js reports: keys, pastes, the mouse, answers to questions."""
        for message in (*self._parser.feed(data), *self._parser.end()):
            self.process_message(message)

    def resize(self) -> None:
        """Tell the app the size that the terminal has now."""
        size = Size(*self.glass.size())
        self.send_message(events.Resize(size, size))

    def focus(self, *, has: bool) -> None:
        """Tell the app whether the page has the focus."""
        self.send_message(events.AppFocus() if has else events.AppBlur())

    def send_message(self, message: Message) -> None:
        """Post a message to the app; Textual's own method enters the loop from another thread."""
        self._app.post_message(message)

    # ---- beginning and end ----------------------------------------------------------------------

    def start_application_mode(self) -> None:
        """Switch the terminal to the modes of the app.

        The size is asked now: the page may have been resized while Python was loaded.
        """
        self.write("".join(f"\x1b[{mode}h" for mode in _MODES) + _HIDE + _ASK_SYNCHRONIZED)
        self.resize()

    def disable_input(self) -> None:
        """Do nothing: input arrives by calls of `receive` only."""

    def stop_application_mode(self) -> None:
        """Switch the terminal back."""
        self.write("".join(f"\x1b[{mode}l" for mode in reversed(_MODES)) + _SHOW)
        self.flush()
        self.glass.driver = None


def driver_of(glass: Glass) -> type[PageDriver]:
    """The driver class of this terminal, for `Face`."""
    return type("PageDriver", (PageDriver,), {"glass": glass})
