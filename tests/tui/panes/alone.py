"""One pane in an application of its own, and what it asks of the application."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, ClassVar

from textual.app import App

from rdmalab.tui.app_model import AppModel
from rdmalab.tui.themes import PREFIX, own_themes, tones_of
from rdmalab.tui.world_view import WorldView
from tests.labs import well

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from textual.app import ComposeResult
    from textual.pilot import Pilot

    from rdmalab.lab import Lab
    from rdmalab.tui.pane import Pane


class Alone(App[None]):
    """asked: what the pane has asked for, as (action, argument)."""

    AUTO_FOCUS = None
    CSS: ClassVar[str] = "Screen { layout: vertical; } Pane { height: 1fr; }"

    def __init__(self, make: Callable[[WorldView], Pane], view: WorldView) -> None:
        super().__init__()
        self._make = make
        self._view = view
        self.asked: list[tuple[str, object]] = []
        for theme in own_themes():
            self.register_theme(theme)
        self.theme = PREFIX + "dark"

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return tones_of(self.current_theme)

    def compose(self) -> ComposeResult:
        yield self._make(self._view)

    def action_say(self, line: str) -> None:
        self.asked.append(("say", line))

    def action_event(self, number: int) -> None:
        self.asked.append(("event", number))

    def action_packet(self, number: int) -> None:
        self.asked.append(("packet", number))

    def action_explain(self, word: str) -> None:
        self.asked.append(("explain", word))

    def action_leave(self) -> None:
        self.asked.append(("leave", ""))


class Bench:
    """A pane under a pilot."""

    def __init__(self, app: Alone, pilot: Pilot[None], pane: Pane, lab: Lab) -> None:
        self.app = app
        self.pilot = pilot
        self.pane = pane
        self.lab = lab

    @property
    def grid(self) -> list[str]:
        """The screen, row by row."""
        strips = self.app.screen._compositor.render_strips()
        return ["".join(segment.text for segment in strip) for strip in strips]

    @property
    def text(self) -> str:
        return "\n".join(self.grid)

    def place(self, text: str) -> tuple[int, int]:
        """Column and row of the first place where a text is seen."""
        row = next(y for y, line in enumerate(self.grid) if text in line)
        return self.grid[row].index(text), row

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def type(self, text: str) -> None:
        names = {
            " ": "space",
            "=": "equals_sign",
            ">": "greater_than_sign",
            "!": "exclamation_mark",
        }
        await self.press(*(names.get(letter, letter) for letter in text))

    async def click(self, text: str, times: int = 1) -> None:
        x, y = self.place(text)
        await self.pilot.click(self.pane, offset=(x, y), times=times)
        await self.pilot.pause()

    async def say(self, *lines: str) -> None:
        """Carry out lines, as the prompt does, and draw."""
        for line in lines:
            well(self.lab, line)
        self.pane.read_if_seen()
        await self.pilot.pause()


@asynccontextmanager
async def alone(
    make: Callable[[WorldView], Pane], size: tuple[int, int], lab: Lab
) -> AsyncIterator[Bench]:
    app = Alone(make, WorldView(AppModel(lab)))
    async with app.run_test(size=size) as pilot:
        pane = app.query_one("#pane")
        pane.read_if_seen()  # type: ignore[attr-defined]
        await pilot.pause()
        yield Bench(app, pilot, pane, lab)  # type: ignore[arg-type]
