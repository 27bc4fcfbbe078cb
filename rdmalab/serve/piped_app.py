"""The app in a process whose terminal is a pair of pipes, as textual-serve speaks through them."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from textual import events
from textual.drivers.web_driver import WebDriver
from textual.messages import ExitApp

from rdmalab.tui.face import Face
from rdmalab.tui.launch import application, left
from rdmalab.workbench import settings

if TYPE_CHECKING:
    from textual.app import App
    from textual.message import Message

_WAIT_S = 0.05


class PipeDriver(WebDriver):
    """Leaves the app when the server has ended, in whatever way: its pipe is closed then.

    No key is handed on before `ready`, which the app sets when its prompt has the focus.
    """

    def __init__(
        self, app: App[int], *, debug: bool = False, mouse: bool = True,
        size: tuple[int, int] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self.ready = threading.Event()

    def process_message(self, message: Message) -> None:
        """Hand on a message; the thread that reads the pipe waits with keys and pastes."""
        if isinstance(message, (events.InputEvent, events.Paste)):
            while not self.ready.wait(_WAIT_S) and not self.exit_event.is_set():
                pass
        super().process_message(message)

    def run_input_thread(self) -> None:
        """Read until the pipe is closed."""
        super().run_input_thread()
        self._app.post_message(ExitApp())


def main() -> int:
    """Run the app; returns its exit code."""
    app = application([], is_kept=True, face=Face(driver_class=PipeDriver))
    app.run(mouse=settings.read().mouse)
    return left(app)
