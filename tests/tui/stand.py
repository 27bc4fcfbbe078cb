"""The application under a pilot: lines said, keys pressed, the screen as text."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from textual import events

from rdmalab.tui.launch import launched
from rdmalab.workbench import settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from textual.pilot import Pilot

    from rdmalab.tui.app import Rdmalab

ROOT = Path(__file__).parents[2]
PATIENCE_S = 30.0


class Stand:
    def __init__(self, app: Rdmalab, pilot: Pilot[int]) -> None:
        self.app = app
        self.pilot = pilot

    @property
    def grid(self) -> list[str]:
        """The screen, row by row."""
        strips = self.app.screen._compositor.render_strips()
        return ["".join(segment.text for segment in strip) for strip in strips]

    @property
    def text(self) -> str:
        return "\n".join(self.grid) if self.app.is_ready else ""

    @property
    def said(self) -> str:
        """All that the console has said, seen or not."""
        return "\n".join(row.text for row in self.app.prompt._transcript.rows)

    @property
    def focused(self) -> str:
        return "" if self.app.focused is None else str(self.app.focused.id or "prompt")

    async def until(self, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        began = time.monotonic()
        while not holds():
            ended = time.monotonic()
            assert ended < deadline, self.text
            # A look may draw the whole screen: the app has twice the time of each look.
            await asyncio.sleep(max(0.005, 2 * (ended - began)))
            began = time.monotonic()

    async def sees(self, *texts: str) -> None:
        """Wait until the screen, drawn once for each look at it, has all these texts."""

        def has_all() -> bool:
            seen = self.text
            return all(text in seen for text in texts)

        await self.until(has_all)

    async def settled(self) -> None:
        console = self.app.prompt
        await self.until(lambda: not console.busy and not console.live.said_ahead)
        await self.until(lambda: console.live.cursor() is not None)
        await self.pilot.pause()

    async def say(self, *lines: str) -> None:
        for line in lines:
            answer = len(self.app.prompt._transcript.rows)
            self.app.prompt.say(line)
            await self.until(lambda answer=answer: self._said_since(answer))  # type: ignore[misc]
            await self.settled()

    def _said_since(self, rows: int) -> bool:
        return len(self.app.prompt._transcript.rows) > rows

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.settled()

    async def pane(self, name: str) -> None:
        """Show a pane and give it the keys, as its number does in another pane."""
        self.app.main.bring(name, focus=True)
        await self.until(lambda: self.app._pane is not None and self.app._pane.id == name)

    def type(self, text: str) -> None:
        for character in text:
            self.app.prompt.post_message(events.Key(character, character))

    async def resize(self, columns: int, rows: int) -> None:
        await self.pilot.resize_terminal(columns, rows)


@asynccontextmanager
async def stand(
    size: tuple[int, int] = (80, 24), *, path: str | None = None
) -> AsyncIterator[Stand]:
    settings.write("theme", "dark")  # the test before may have chosen another
    app = launched(path=str(ROOT / path) if path else None)
    async with app.run_test(size=size) as pilot:
        it = Stand(app, pilot)
        await it.until(lambda: app.is_ready)
        await it.settled()
        yield it
