"""A terminal driver for Textual that loses no early key and accepts invalid UTF-8."""

from __future__ import annotations

import os
from codecs import getincrementaldecoder
from threading import Event
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from textual.driver import Driver

_WAIT_S = 0.05


def driver_class() -> type[Driver] | None:
    """A driver for this platform; None: Textual's own choice."""
    if os.name != "posix" or os.environ.get("TEXTUAL_DRIVER"):
        return None
    from textual.drivers import linux_driver

    def decoder(encoding: str) -> Any:
        """A byte that is not UTF-8 is shown as U+FFFD; strict decoding ends the reader thread."""
        return lambda: getincrementaldecoder(encoding)(errors="replace")

    class PatientDriver(linux_driver.LinuxDriver):
        """Reads no key before `ready` is set; until then the terminal buffers the keys."""

        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named)
            self.ready = Event()

        def run_input_thread(self) -> None:
            while not self.ready.wait(_WAIT_S) and not self.exit_event.is_set():
                pass
            vars(linux_driver)["getincrementaldecoder"] = decoder
            super().run_input_thread()

    return PatientDriver
