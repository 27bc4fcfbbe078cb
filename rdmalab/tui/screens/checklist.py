"""A checklist as a page: what failed comes first, and each row opens its event or its check."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from rdmalab.shell.show_why import row_lines
from rdmalab.tui.bars import Keys
from rdmalab.tui.content import contents
from rdmalab.tui.screens.page import TextScreen

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from rdmalab.doctor.checklist_report import ChecklistReport


class Checklist(TextScreen):
    """The rows of `checklist`; what is opened stands above it, and Esc comes back to it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Back"),
        Binding("1", "explain", "Explain the check"),
    ]

    def __init__(self, walk: ChecklistReport) -> None:
        super().__init__()
        self._rows = walk.rows

    def compose(self) -> ComposeResult:
        """One list, as large as the screen."""
        yield OptionList(id="checklist", compact=True)
        yield Keys()

    def on_resize(self) -> None:
        """Fold the rows for the new width."""
        self.call_after_refresh(self._draw)

    def _draw(self) -> None:
        listed = self.query_one(OptionList)
        width, at = max(20, listed.scrollable_content_region.width - 2), listed.highlighted
        listed.set_options(Option(contents(row_lines(row, width))) for row in self._rows)
        first = next((n for n, row in enumerate(self._rows) if row.slug), None)
        listed.highlighted = first if at is None else at
        listed.focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Enter, or a click: the event of the row, else its check."""
        event.stop()
        number = self._rows[event.option_index].event
        if number is not None and number >= 0:
            self.app.action_event(number)
        else:
            self.action_explain()

    def action_explain(self) -> None:
        """Explain the check of the row."""
        at = self.query_one(OptionList).highlighted
        if at is not None and (slug := self._rows[at].slug):
            self.app.action_explain(f"cause {slug}")
