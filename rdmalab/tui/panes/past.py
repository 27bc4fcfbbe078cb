"""The past: the story has one sentence an event, the log every record."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from rdmalab.render.meanings import APPEARANCES, Tone
from rdmalab.shell.show_why import tagged
from rdmalab.shell.styled_text import Line, plain, shown
from rdmalab.tui.content import contents, style
from rdmalab.tui.finding import Ask
from rdmalab.tui.list_pane import ListPane
from rdmalab.views import fmt
from rdmalab.views.caption import caption, meaning_of
from rdmalab.views.story import EventRow, StoryRow

if TYPE_CHECKING:
    from textual.content import Content

    from rdmalab.views.columns import Meaning


_LAST = 400  # how far back one can scroll
_CLOCK = 12  # columns of a moment
_ROOMY = 56  # with fewer columns the times are left out
_LOUD = (Tone.BAD, Tone.ODD)  # such rows are coloured from end to end


class StoryPane(ListPane):
    """The newest events, one sentence each. pattern: only rows that contain it; empty: all."""

    what: ClassVar[str] = "story"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f", "filter", "Filter", tooltip="Only rows that contain a text"),
        Binding("escape", "close", "Close", show=False, tooltip="Show all rows again, then leave"),
    ]
    newest_last = True
    pattern = ""
    _events: tuple[int, ...] = ()
    _looked: object = None

    @property
    def twin(self) -> str:
        """The command that prints the same rows."""
        reads_back = self.has_focus or self.pattern
        return f"show {self.what} last={_LAST if reads_back else max(10, self.size.height)}"

    def read_rows(self) -> None:
        """Draw the rows, and stay at the newest unless an older one is marked."""
        world, history = self.view.session.world, self.view.session.history
        size = self.row_width, self.twin, self.pattern
        looked = world, history.branch.name, world.event, len(world.trace.records), *size
        if looked == self._looked:
            return
        self._looked = looked
        rows = [
            row for row in self.view.view_of(self.twin).rows if self.pattern in row.text.lower()
        ]
        follows = not self.has_focus or self.highlighted in (None, len(self._events) - 1)
        self._events = tuple(row.event for row in rows)
        drawn = [self._drawn(row, self.row_width) for row in rows]
        if not rows:
            text = f"no row contains {self.pattern}, Esc: all" if self.pattern else "…"
            drawn = [contents([plain(text, "$dim")])]
        self.fill(drawn, len(drawn) - 1 if follows else None)

    def _drawn(self, row: EventRow | StoryRow, width: int) -> Content:
        """Time, sign, sentence, event."""
        appearance = APPEARANCES[meaning := self._meaning(row)]
        clock = "" if row.at_ns is None or width < _ROOMY else fmt.clock_in(row.at_ns, _CLOCK)
        start = f"{clock:>{_CLOCK}} " if width >= _ROOMY else ""
        line: Line = [
            ("$dim", start), (style(meaning), f"{appearance.sign or ' '} "),
            (style(meaning) if appearance.tone in _LOUD else "", shown(row.text)),
        ]  # fmt: skip
        return contents(tagged(line, row.event, width, len(start.lstrip()) + 2))

    def _meaning(self, row: EventRow | StoryRow) -> Meaning:
        return caption(self.view.session.world, self.view.session.names, row.event).meaning

    def open_row(self, index: int) -> None:
        """Show what happened in the event."""
        if index < len(self._events):
            self.act("event", self._events[index])

    @property
    def is_begun(self) -> bool:
        """Whether only some rows are shown."""
        return bool(self.pattern)

    def action_close(self) -> None:
        """Show all rows again."""
        self._filter("")

    def action_filter(self) -> None:
        """Ask for a text; only rows that contain it stay."""
        self.app.push_screen(Ask("Only rows that contain", self.pattern), self._filter)

    def _filter(self, pattern: str | None) -> None:
        if pattern is not None:
            self.pattern = pattern.lower()
            self.read_if_seen()


class LogPane(StoryPane):
    """The newest records."""

    what = "log"

    def _meaning(self, row: EventRow | StoryRow) -> Meaning:
        assert isinstance(row, StoryRow)
        return meaning_of(self.view.session.world.trace.records[row.number])
