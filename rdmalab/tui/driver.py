"""The terminal: keys typed early, its ground, invalid UTF-8, ^C during a computation, signals."""

from __future__ import annotations

import asyncio
import os
import re
import select
import signal
import threading
import time
from codecs import getincrementaldecoder
from typing import TYPE_CHECKING, Any

from textual import events
from textual.message import Message

from rdmalab.render.meanings import is_dark
from rdmalab.shell.interrupt import LEAVING

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import App
    from textual.driver import Driver
    from textual.drivers.linux_driver import LinuxDriver

    from rdmalab.tui.app import Rdmalab

_LEAVE_S = 5.0  # so long a signal waits for the terminal to be restored
_WAIT_S = 0.05
_ANSWER_S = 0.15  # a terminal that answers later, and after the start, counts as dark
# Each terminal answers the question after it (DA1), so a silent one is not waited for.
_ASK = "\x1b]11;?\x1b\\\x1b[c"
_GROUND = re.compile(
    rb"\x1b\]11;rgba?:([\da-fA-F]+)/([\da-fA-F]+)/([\da-fA-F]+)[^\x07\x1b]*(?:\x07|\x1b\\)"
)
_ATTRIBUTES = re.compile(rb"\x1b\[\?[0-9;]*c")


class Ground(Message):
    """The colour of the terminal's ground is known."""

    def __init__(self, *, dark: bool) -> None:
        super().__init__()
        self.dark = dark


def asked(terminal: LinuxDriver, app: App[int], ready: threading.Event) -> bytes:
    """Ask, and post `Ground` to the app; returns what else was read, for instance keys.

    No key is handed on before `ready`, so a slow terminal, as over ssh, has until then to answer:
    what comes later would be read as keys.
    """
    terminal.write(_ASK)
    terminal.flush()
    early, until = b"", time.monotonic() + _ANSWER_S
    while not _ATTRIBUTES.search(early) and not terminal.exit_event.is_set():
        left = until - time.monotonic()
        if left <= 0 and ready.is_set():
            break
        if select.select([terminal.fileno], [], [], max(left, _WAIT_S))[0]:
            if not (part := os.read(terminal.fileno, 4096)):
                break
            early += part
    if (found := _GROUND.search(early)) is not None:
        app.post_message(Ground(dark=is_dark(*found.groups())))
    return _ATTRIBUTES.sub(b"", _GROUND.sub(b"", early))


def driver_class(*, asks_ground: bool = False) -> type[Driver] | None:
    """A driver for this platform; None: Textual's own choice.

    asks_ground: it asks for the colour of the terminal's ground, and posts `Ground`.
    """
    if os.name != "posix" or os.environ.get("TEXTUAL_DRIVER"):
        return None
    from textual._xterm_parser import XTermParser  # the driver's own; it has no public name
    from textual.drivers import linux_driver

    def decoder(encoding: str) -> Any:
        """A byte that is not UTF-8 is shown as U+FFFD; strict decoding ends the reader thread."""
        return lambda: getincrementaldecoder(encoding)(errors="replace")

    class PatientDriver(linux_driver.LinuxDriver):
        """Hands on no key before `ready` is set; asks for the colour of the terminal's ground."""

        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named)
            self.ready = threading.Event()

        def run_input_thread(self) -> None:
            early = asked(self, self._app, self.ready) if asks_ground else b""
            while not self.ready.wait(_WAIT_S) and not self.exit_event.is_set():
                pass
            vars(linux_driver)["getincrementaldecoder"] = decoder
            for event in XTermParser(self._debug).feed(early.decode("utf-8", "replace")):
                self.process_message(event)
            super().run_input_thread()

        def capture_mouse(self, *, wanted: bool) -> None:
            """Take the mouse, or leave it to the terminal, which can select text then."""
            self._disable_mouse_support()
            self._mouse = wanted
            self._enable_mouse_support()

    return PatientDriver


def interrupting(driver: type[Driver], interrupt: Callable[[], None]) -> type[Driver]:
    """A driver that also calls `interrupt` for each ^C, before the event loop has the key.

    `interrupt` runs in the thread that reads the terminal, so it must only set a flag.
    """

    class Interrupting(driver):  # type: ignore[valid-type, misc]
        """The driver class extended by the call of `interrupt`."""

        def process_message(self, message: Message) -> None:
            if isinstance(message, events.Key) and message.key == "ctrl+c":
                interrupt()
            super().process_message(message)

    return Interrupting


def handle_signals(app: Rdmalab) -> None:
    """Set the handlers in the running event loop; not where there is no terminal."""
    if app.is_headless or os.name != "posix":
        return
    loop = asyncio.get_running_loop()
    for number in LEAVING:
        loop.add_signal_handler(number, _leave, app, 128 + number)
    loop.add_signal_handler(signal.SIGINT, _press_interrupt, app)


def _leave(app: Rdmalab, code: int) -> None:
    """Exit; the wait is limited, because threads of a closed terminal may not end."""
    last = threading.Timer(_LEAVE_S, os._exit, (code,))
    last.daemon = True
    last.start()
    if app.model is not None:
        app.model.stop()
    app.exit(code, return_code=code)


def _press_interrupt(app: Rdmalab) -> None:
    if app.is_busy:
        app.interrupt()
    elif app.is_ready:
        app.prompt.press("ctrl+c")
