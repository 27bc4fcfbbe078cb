"""Signals: SIGTERM and SIGHUP exit with the terminal restored; SIGINT is the key ^C."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from typing import TYPE_CHECKING

from rdmalab.shell.interrupt import LEAVING

if TYPE_CHECKING:
    from rdmalab.tui.app import Rdmalab

_LEAVE_S = 5.0  # so long a signal waits for the terminal to be restored


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
    app.scene.stop()
    app.exit(code, return_code=code)


def _press_interrupt(app: Rdmalab) -> None:
    if app.console_pane.busy:
        app.scene.interrupt()
    else:
        app.console_pane.press("ctrl+c")
