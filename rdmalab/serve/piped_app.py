"""The app in a process whose terminal is a pair of pipes, as textual-serve speaks through them."""

from __future__ import annotations

from textual.drivers.web_driver import WebDriver
from textual.messages import ExitApp

from rdmalab.tui.face import Face
from rdmalab.tui.launch import application, left
from rdmalab.workbench import settings


class PipeDriver(WebDriver):
    """Leaves the app when the server has ended, in whatever way: its pipe is closed then."""

    def run_input_thread(self) -> None:
        """Read until the pipe is closed."""
        super().run_input_thread()
        self._app.post_message(ExitApp())


def main() -> int:
    """Run the app; returns its exit code."""
    app = application([], is_kept=True, face=Face(driver_class=PipeDriver))
    app.run(mouse=settings.read().mouse)
    return left(app)
