"""One pane in an app that writes down what its actions are asked."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from textual.app import App, ComposeResult

from rdmalab.render.meanings import THEMES
from rdmalab.tui.app_model import AppModel
from rdmalab.tui.world_view import WorldView

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from textual.pilot import Pilot

    from rdmalab.tui.pane import Pane


@dataclass
class Hosted:
    """A pane with its world. asked: the actions of the app that it has asked for."""

    model: AppModel
    view: WorldView
    asked: list[str] = field(default_factory=list)
    _pilot: Pilot[None] | None = None

    @property
    def pilot(self) -> Pilot[None]:
        assert self._pilot is not None
        return self._pilot

    async def do(self, *lines: str) -> None:
        """Evaluate lines as the prompt does, then draw."""
        for line in lines:
            await self.model.evaluate(line, lambda _: None, _no_pause)
        await self.frame()

    @property
    def pane(self) -> Pane:
        host = self.pilot.app
        assert isinstance(host, Host)
        return host.pane

    async def frame(self) -> None:
        """Let the pane look at the world."""
        self.pane.read_if_seen()
        await self.pilot.pause()

    async def sees(self, *texts: str) -> None:
        """Draw until the screen shows all of these texts."""
        deadline = time.monotonic() + 10
        while not all(text in seen for seen in (self.text,) for text in texts):
            assert time.monotonic() < deadline, self.text
            await asyncio.sleep(0.02)
            await self.frame()

    @property
    def text(self) -> str:
        """What the screen shows."""
        rows = self.pilot.app.screen._compositor.render_strips()
        return "\n".join(strip.text.rstrip() for strip in rows)


class Host(App[None]):
    """Shows one pane; notes what it asks."""

    is_ready = False  # it has no main screen
    letter = None  # and no line has begun

    def __init__(self, pane: Pane, asked: list[str]) -> None:
        super().__init__()
        self.pane, self._asked = pane, asked

    def get_theme_variable_defaults(self) -> dict[str, str]:
        theme = THEMES["dark"]
        return {**{tone.value: colour for tone, colour in theme.tones.items()}, "on": theme.on}

    def compose(self) -> ComposeResult:
        yield self.pane

    def on_mount(self) -> None:
        self.pane.focus()

    def action_type_in(self, text: str) -> None:
        self._asked.append(f"type {text}")

    def action_event(self, number: int) -> None:
        self._asked.append(f"event {number}")

    def action_explain(self, word: str) -> None:
        self._asked.append(f"explain {word}")

    def action_open(self, line: str) -> None:
        self._asked.append(f"open {line}")

    def action_lessons(self) -> None:
        self._asked.append("lessons")

    def action_say(self, line: str) -> None:
        self._asked.append(f"say {line}")


@asynccontextmanager
async def hosted(
    make: Callable[[WorldView], Pane], *lines: str, size: tuple[int, int] = (80, 24)
) -> AsyncIterator[Hosted]:
    """A pane in the world of the first screen, after these lines."""
    model = AppModel()
    model.begin()
    it = Hosted(model, WorldView(model))
    for line in lines:
        await model.evaluate(line, lambda _: None, _no_pause)
    async with Host(make(it.view), it.asked).run_test(size=size) as pilot:
        it._pilot = pilot
        await it.frame()
        yield it


async def _no_pause() -> None:
    """The world of a test is small: nothing waits."""
