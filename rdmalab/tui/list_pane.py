"""Panes whose rows can be chosen: a click or Enter opens what the row is about."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from rdmalab.tui.pane import Pane

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.content import Content

    from rdmalab.tui.world_view import WorldView


class ListPane(OptionList, Pane):
    """A list of rows. drawn: what was drawn last."""

    ALLOW_MAXIMIZE = True

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", "Down", show=False),
        Binding("k", "cursor_up", "Up", show=False),
    ]

    def __init__(self, view: WorldView, *, id: str) -> None:  # noqa: A002 (Textual's word)
        super().__init__(id=id, compact=True)
        self.view = view
        self.drawn: list[Content] = []

    @property
    def row_width(self) -> int:
        """Columns of a row, at least 20."""
        return max(20, self.scrollable_content_region.width - 2)

    def fill(self, rows: Sequence[Content], marked: int | None = None) -> None:
        """Draw these rows if they differ; those that are new below the others are only added.

        marked: the row that is marked then; None: the one that was marked.
        """
        rows, before = list(rows), self.drawn
        if rows == before:
            return
        at, self.drawn = self.highlighted, rows
        if before and rows[: len(before)] == before:
            self.add_options(map(Option, rows[len(before) :]))
        else:
            self.set_options(map(Option, rows))
        self.highlighted = at if marked is None else marked

    @property
    def sought_in(self) -> Sequence[str]:
        """The rows as they are drawn."""
        return [row.plain for row in self.drawn]

    @property
    def found(self) -> int:
        """The marked row."""
        return -1 if self.highlighted is None else self.highlighted

    def show_found(self, number: int) -> None:
        """Mark the row."""
        self.highlighted = number

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """A click on a row, or Enter."""
        event.stop()
        self.open_row(event.option_index)

    def open_row(self, index: int) -> None:
        """Open what a row is about."""
        raise NotImplementedError
