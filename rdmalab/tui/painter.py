"""When the panes are painted while a command runs, and what happens if a pane raises."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from rdmalab.shell.styled_text import plain, shown
from rdmalab.workbench.bug_reports import called, report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rdmalab.shell.styled_text import Line

FRAME_S = 0.1  # panes are painted at most so often; by CPU time, so that a busy machine draws less
_LONGEST_S = 0.3  # and seldom less often than so
_SHARE = 10  # of the time one part at most goes into painting
_READ_S = 0.02  # keys are read so often
_HOPS = 12  # turns of the loop that a key needs from the terminal to its handler


class Painter:
    """Paints parts of the screen at intervals. emit: prints a line."""

    def __init__(self, emit: Callable[[Line], None]) -> None:
        self._emit = emit
        # While something runs: not before this CPU second, but by that second of the wall.
        self._paint_at = self._painted_by = 0.0
        self._read_at = 0.0
        self._told: set[str] = set()  # bugs of panes

    def paint(self, parts: Iterable[Callable[[], None]]) -> None:
        """Draw the parts; a part that raises is not redrawn, and each bug is reported once."""
        started = time.process_time()
        for draw in parts:
            try:
                draw()
            except Exception as bug:  # noqa: BLE001  (no pane may end a session)
                self._tell(bug)
        took = time.process_time() - started
        self._paint_at = started + max(FRAME_S, _SHARE * took)
        self._painted_by = time.monotonic() + _LONGEST_S

    def _tell(self, bug: Exception) -> None:
        said = called(bug)
        if said not in self._told:
            self._told.add(said)
            self._emit(plain(shown(f"{said}; {report(bug)}"), "class:error"))

    async def pause(self, repaint: Callable[[], None]) -> None:
        """Between two slices of a run: paint at intervals, and handle keys."""
        now = time.monotonic()
        if time.process_time() >= self._paint_at or now >= self._painted_by:
            repaint()
        elif now - self._read_at < _READ_S:
            return
        for _ in range(_HOPS):
            await asyncio.sleep(0)
        self._read_at = time.monotonic()
