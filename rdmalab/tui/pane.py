"""Panes: titled parts of the screen that read the world again in each frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.style import Style
from textual.content import Content
from textual.widget import Widget

from rdmalab.shell.show import render
from rdmalab.shell.styled_text import text_of
from rdmalab.tui.content import click, linked

if TYPE_CHECKING:
    from textual import events
    from textual.screen import Screen

    from rdmalab.tui.world_view import WorldView

_WIDTH = 100  # columns of a pane as text


class Pane(Widget, can_focus=True, inherit_bindings=False):
    """Base of all panes, whatever widget they are.

    view: the world. twin: the command that prints the same rows.
    """

    ALLOW_MAXIMIZE: ClassVar[bool | None] = True
    FOCUS_ON_CLICK: ClassVar[bool] = False  # a click does not take the keys from the prompt
    view: WorldView

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

    def act(self, action: str, *arguments: object) -> None:
        """Carry out an action of the App."""
        self.app.call_later(self.run_action, click(action, *arguments).removeprefix("@click="))

    def read_if_seen(self) -> None:
        """Look, unless the pane is not on the screen."""
        if not (self.is_attached and self.size.width and self.is_on_screen):
            return
        try:
            with self.view.frame():
                self.read_rows()
        except Exception as bug:  # (no pane may end a session)
            if (tell := getattr(self.app, "tell_bug", None)) is None:
                raise
            tell(bug)

    def on_resize(self, _event: events.Resize) -> None:
        """Choose the rows for the new size."""
        self.read_if_seen()

    def on_show(self) -> None:
        """Read what has happened while the pane was hidden."""
        self.call_after_refresh(self.read_if_seen)

    @property
    def link_style(self) -> Style:
        """None: the one of Textual would replace the colour of all that can be clicked."""
        return Style()


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
