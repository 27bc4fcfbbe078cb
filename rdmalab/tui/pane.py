"""Panes: titled parts of the screen that read the world again in each frame."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, ClassVar

from rich.style import Style
from textual.binding import Binding
from textual.content import Content
from textual.strip import Strip

from rdmalab.shell.show import render
from rdmalab.shell.styled_text import text_of
from rdmalab.tui.content import click, linked
from rdmalab.tui.finding import Ask, following, rows_with
from rdmalab.tui.layouts import Fitted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.binding import BindingType
    from textual.geometry import Region
    from textual.screen import Screen

    from rdmalab.tui.world_view import WorldView

_WIDTH = 100  # columns of a pane as text


class Pane(Fitted, can_focus=True, inherit_bindings=False):
    """Base of all panes, whatever widget they are.

    view: the world. twin: the command that prints the same rows.
    """

    ALLOW_MAXIMIZE: ClassVar[bool | None] = True
    FOCUS_ON_CLICK: ClassVar[bool] = False  # a click does not take the keys from the prompt
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "find", "Find", key_display="/", tooltip="Find; n next, N before"),
        Binding("n", "find_next(1)", "Next", show=False, tooltip="The next one that is found"),
        Binding("N", "find_next(-1)", "Previous", show=False, tooltip="The one before"),
    ]
    COMMANDS: ClassVar[str] = ""  # letters of which the effect cannot be taken back
    SWITCHES: ClassVar[str] = "z"  # letters that, pressed again, leave all as it was
    newest_last: ClassVar[bool] = False  # the search begins at the last row
    view: WorldView
    wanted = ""

    @property
    def rows_drawn(self) -> int:
        """Rows that it would fill; 0 of a pane that fills what it gets."""
        return 0

    @property
    def is_typing(self) -> bool:
        """Whether letters and digits are text of the pane now."""
        return False

    @property
    def is_begun(self) -> bool:
        """Whether the pane has something that Esc ends before it leaves."""
        return False

    @property
    def twin(self) -> str:
        """The command that prints the same."""
        return ""

    def text(self) -> str:
        """All that the pane has, seen or not, for a copy."""
        return "\n".join(map(text_of, render(self.view.view_of(self.twin), _WIDTH)))

    def read_rows(self) -> None:
        """Read the rows again, and redraw what differs."""
        raise NotImplementedError

    # ---- find -----------------------------------------------------------------------------------
    @property
    def sought(self) -> str:
        """Hint for the line in which one types: the texts that `/` looks through."""
        return "find in these rows: a text"

    @property
    def sought_in(self) -> Sequence[str]:
        """The texts that are looked through."""
        return ()

    @property
    def found(self) -> int:
        """The number of the text where the search goes on; -1: at the beginning."""
        return -1

    def places(self, wanted: str) -> list[int]:
        """The numbers of the texts that have it."""
        return rows_with(self.sought_in, wanted)

    def show_found(self, number: int) -> None:
        """Mark a text that was found."""
        raise NotImplementedError

    def action_find(self) -> None:
        """Ask for what is sought."""
        self.app.push_screen(Ask(self.sought, self.wanted), self._find)

    def _find(self, wanted: str | None) -> None:
        self.wanted = self.wanted if wanted is None else wanted
        if wanted:
            self._show_next(*((sys.maxsize, -1) if self.newest_last else (-1, 1)))

    def action_find_next(self, step: int) -> None:
        """Go to the next (1) or previous (-1) place, around the end."""
        self._show_next(self.found, step)

    def _show_next(self, at: int, step: int) -> None:
        if (number := following(self.places(self.wanted), at, step)) is not None:
            self.show_found(number)
        elif self.wanted:
            where = self.sought.partition(":")[0]
            self.notify(f"{where}: none has {self.wanted!r}", timeout=2)

    async def press(self, key: str) -> None:
        """Carry out what a key of the pane, or of all panes, is bound to."""
        if (bound := self.screen.active_bindings.get(key)) is not None:
            await self.app.run_action(bound.binding.action, bound.node)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """False while a command that takes long has read half of the world."""
        is_free = self.view.model.conversation.work is None
        return is_free and super().check_action(action, parameters)

    def act(self, action: str, *arguments: object) -> None:
        """Carry out an action of the App."""
        self.app.call_later(self.run_action, click(action, *arguments).removeprefix("@click="))

    def read_if_seen(self) -> None:
        """Look, unless the pane is not on the screen, or the world is half read by a command."""
        is_seen = self.is_attached and self.size.width and self.is_on_screen
        if not is_seen or self.view.model.conversation.work is not None:
            return
        try:
            with self.view.frame():
                self.read_rows()
        except Exception as bug:  # (no pane may end a session)
            if not self._is_told(bug):
                raise

    def render_lines(self, crop: Region) -> list[Strip]:
        """The rows of the pane; empty ones if it fails."""
        try:
            return super().render_lines(crop)
        except Exception as bug:  # (Textual would end the app)
            if not self._is_told(bug):
                raise
            return [Strip.blank(crop.width)] * crop.height

    def _is_told(self, bug: Exception) -> bool:
        """Report a bug of the pane; False in an app that takes no reports."""
        if (tell := getattr(self.app, "tell_bug", None)) is not None:
            tell(bug)
        return tell is not None

    def fit(self) -> None:
        """Choose the rows for the new size."""
        self.read_if_seen()

    def on_show(self) -> None:
        """Read what has happened while the pane was hidden."""
        self.call_after_refresh(self.read_if_seen)

    # The one of Textual would replace the colour of all that can be clicked.
    link_style = Style()


def read_all(screen: Screen[object]) -> None:
    """All panes of a screen that are seen look again."""
    for pane in [*screen.walk_children(Pane)]:  # a query finds a widget by its first bases only
        pane.read_if_seen()


class Card(Pane):
    """A pane of lines, each with a rank; where room is short the lines of high rank go."""

    # CSS gives space, not rank: with five lines a pane must still have its most important rows.
    shown: Content = Content()

    def __init__(self, view: WorldView, *, id: str) -> None:  # noqa: A002 (Textual's word)
        super().__init__(id=id)
        self.view = view

    def lines(self, width: int, height: int) -> list[tuple[int, Content]]:
        """The lines from top to bottom: rank (0 stays longest) and text."""
        raise NotImplementedError

    def read_rows(self) -> None:
        """Draw the lines that fit."""
        width, height = self.content_size
        found = linked(Content("\n").join(fitted(self.lines(width, height), height)))
        if not found.is_same(self.shown):
            self.shown = found
            self.refresh()

    def render(self) -> Content:
        """The lines that fit."""
        return self.shown


def fitted(ranked: list[tuple[int, Content]], height: int) -> list[Content]:
    """The lines that stay, in their order."""
    kept = sorted(range(len(ranked)), key=lambda at: (ranked[at][0], at))[:height]
    return [ranked[at][1] for at in sorted(kept)]
