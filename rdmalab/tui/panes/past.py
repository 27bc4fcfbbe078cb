"""The past: the story has one sentence an event, the log every record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdmalab.shell.show import render, render_rows
from rdmalab.shell.styled_text import fold
from rdmalab.tui.pane import Pane

if TYPE_CHECKING:
    from rdmalab.shell.styled_text import Line
    from rdmalab.tui.pane import Appearance
    from rdmalab.tui.world_view import WorldView

_LAST = 400  # how far back one can scroll
_ROOMY = 56  # with fewer columns the times are left out
_ENDLESS = 100_000


class PastPane(Pane):
    """`what`: story or log."""

    follows = True

    def __init__(self, name: str, stage: WorldView, look: Appearance, what: str) -> None:
        super().__init__(name, stage, look)
        self.what = what

    def sentences(self) -> list[str]:
        """Only the visible rows, unless scrolled back."""
        reads_back = self.has_focus or self.top is not None or self.filter.pattern
        last = _LAST if reads_back else max(10, self.body_height)
        return [f"show {self.what} last={last}"]

    def lines(self, width: int, height: int) -> list[Line]:
        """The story or the log; in a narrow pane each row is shortened and wrapped."""
        del height
        view = self.stage.look(self.sentences()[0])
        if width >= _ROOMY or not view.rows:
            return self.filter.lines(render(view, width))
        whole = [render_rows([row], _ENDLESS)[0] for row in view.rows]
        brief = [[line[0], ("", " "), *line[2:]] for line in whole]
        return self.filter.lines([part for line in brief for part in fold(line, width, 2)])
