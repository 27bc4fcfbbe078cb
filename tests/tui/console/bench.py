"""The demo under a pilot: keys in, rows of text out, and conditions to wait for."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from prompt_toolkit.history import InMemoryHistory
from textual import events
from textual.pilot import Pilot

from tests.tui.console.demo_app import Demo

PATIENCE_S = 30.0


class Bench:
    """The demo under a pilot, with the console's rows to look at."""

    def __init__(self, app: Demo, pilot: Pilot[None]) -> None:
        self.app = app
        self.pilot = pilot
        self.console = app.console_pane

    def rows(self) -> list[str]:
        height = self.console.scrollable_content_region.height
        return [self.console.render_line(y).text.rstrip() for y in range(height)]

    def press(self, *keys: str) -> None:
        """Straight to the widget that has the focus: a pilot's press costs eighty milliseconds."""
        for key in keys:
            self.console.post_message(events.Key(key, key if len(key) == 1 else None))

    def type(self, text: str) -> None:
        for character in text:
            self.console.post_message(events.Key(character, character))

    async def until(self, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not holds():
            assert time.monotonic() < deadline, "\n".join(self.rows())
            await asyncio.sleep(0.005)

    async def sees(self, *texts: str) -> None:
        await self.until(lambda: all(any(t in row for row in self.rows()) for t in texts))

    async def prompt(self, line: str) -> None:
        await self.until(lambda: f"A> {line}".rstrip() in self.rows())

    async def hears(self, *lines: str) -> None:
        await self.until(lambda: self.app.heard == list(lines))


@asynccontextmanager
async def bench(*history: str, size: tuple[int, int] = (80, 24)) -> AsyncIterator[Bench]:
    app = Demo(InMemoryHistory(history))
    async with app.run_test(size=size) as pilot:
        it = Bench(app, pilot)
        await it.prompt("")
        yield it
