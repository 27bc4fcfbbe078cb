"""The text of a lesson or a lab: a strip above the nodes, or a page beside the wire."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from rdmalab.shell.styled_text import Line, fold, text_of
from rdmalab.shell.tables import NOTE, PROSE
from rdmalab.tui.content import contents, linked
from rdmalab.tui.finding import with_marks
from rdmalab.tui.pane import Card, Pane
from rdmalab.views import fmt

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from rdmalab.tui.world_view import WorldView

_HANG = 2


class StripPane(Card, can_focus=False):
    """Two or three rows for where the notes have no place of their own."""

    def lines(self, width: int, height: int) -> list[tuple[int, Content]]:
        """Texts read so far and coming."""
        if self.view.model.walk is None and self.view.model.exercise is None:
            return []
        from rdmalab.tui.guidance import strip  # with pydantic, half of the start

        found = [contents([line]) for line in strip(self.view, width)]
        self.set_class(len(found) > 2, "-long")  # the style sheet gives it another row
        return list(enumerate(found))


class NotesPane(VerticalScroll, Pane):
    """The page: it follows the session into the past, and shows how much is done."""

    ALLOW_MAXIMIZE = True
    twin = "task"  # prints the tasks of a lab, or the notes of a lesson
    DEFAULT_CSS = "NotesPane.-more { border-bottom: solid $border-blurred; }"

    def __init__(self, view: WorldView, *, id: str) -> None:  # noqa: A002 (Textual's word)
        super().__init__(id=id)
        self.view = view
        self.shown = Content()
        self._at = -1  # the row that was found

    @property
    def sought_in(self) -> list[str]:
        """The rows of the page."""
        return self.shown.plain.splitlines()

    @property
    def found(self) -> int:
        """The row that was found last."""
        return self._at

    def show_found(self, number: int) -> None:
        """Scroll to the row, and mark the text in it."""
        self._at = number
        rows = self.shown.split("\n")
        rows[number] = with_marks(rows[number], self.wanted, is_here=True)
        self.query_one(Static).update(Content("\n").join(rows))
        self.scroll_to(y=max(0, number - 1), animate=False)

    def text(self) -> str:
        """The whole page."""
        from rdmalab.tui.guidance import page

        return "\n".join(map(text_of, page(self.view)[0]))

    def compose(self) -> ComposeResult:
        """One text."""
        yield Static()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Scroll; say how much is not read yet."""
        super().watch_scroll_y(old_value, new_value)
        self._count_below()

    def watch_virtual_size(self) -> None:
        """The text has got longer, or the pane another size."""
        self._count_below()

    def _count_below(self) -> None:
        seen = int(self.scroll_y) + self.scrollable_content_region.height
        rows = len(self.sought_in) - seen
        self.set_class(rows > 0, "-more")
        self.border_subtitle = f"{fmt.count(rows, 'row')} below: the wheel, or F6 and PgDn"

    def read_rows(self) -> None:
        """Draw what differs; the newest note is seen from its beginning."""
        from rdmalab.tui.guidance import page

        width = max(20, self._width)
        for brief in (False, True):
            lecture = width if self.has_class("-lecture") else 0
            lines, newest = page(self.view, lecture=lecture, brief=brief)
            folded = [fold(line, width, _hang(line)) for line in lines]
            if sum(map(len, folded)) <= self.scrollable_content_region.height:
                break
        found = linked(contents(row for rows in folded for row in rows))
        if not found.is_same(self.shown):
            self.shown, self._at = found, -1
            self.query_one(Static).update(found)
            row = sum(map(len, folded[:newest])) if newest else 0
            self.call_after_refresh(self.scroll_to, y=row, animate=False)
        self._count_below()

    @property
    def _width(self) -> int:
        """Columns of the text, whether the scrollbar is there or not: its place stays free."""
        around = self.styles.gutter.width + self.styles.scrollbar_size_vertical
        return self.outer_size.width - around


def _hang(line: Line) -> int:
    """Prose is not indented; a line to type, or beside a key, is."""
    is_labelled = len(line) > 1 and line[0][0] not in ("", NOTE, PROSE)
    return _HANG if is_labelled or text_of(line).startswith("    ") else 0
