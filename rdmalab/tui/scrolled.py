"""Panes of many lines: only those that are seen are drawn, one Strip each (Line API)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.content import Content
from textual.geometry import Size
from textual.reactive import Reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.visual import Visual

from rdmalab.tui.layouts import Fitted
from rdmalab.tui.pane import Pane

if TYPE_CHECKING:
    from textual.selection import Selection

    from rdmalab.tui.world_view import WorldView


_BAR = "▌"


class LineView(Fitted, ScrollView):
    """Rows that are drawn one by one; they can be selected. No scrollbar is shown."""

    DEFAULT_CSS = "LineView { overflow: hidden; }"
    virtual_size = Reactive(Size(0, 0))  # Textual's own lays the whole screen out for each line

    # Without a scrollbar Textual permits no scrolling. One of no width has no place on the screen:
    # with each scroll it asked to be drawn, and all places were computed again.
    allow_vertical_scroll = True

    def selected(self, strip: Strip, y: int) -> Strip:
        """Row `y`, with its selected part reversed."""
        selection = self.text_selection
        if selection is None or (span := selection.get_span(y)) is None:
            return strip
        start, stop = span[0], strip.cell_length if span[1] == -1 else span[1]
        chosen = strip.crop(start, stop).apply_style(Style(reverse=True))
        return Strip.join([strip.crop(0, start), chosen, strip.crop(stop)])


class Scrolled(Pane, LineView, can_focus=True, inherit_bindings=False):
    """A heading that stays, lines that are scrolled, and a last line that stays."""

    ALLOW_MAXIMIZE = True
    COMPONENT_CLASSES: ClassVar[set[str]] = {"scrolled--marked"}
    DEFAULT_CSS = """
    Scrolled > .scrolled--marked { background: $panel; color: $busy; }
    """

    def __init__(self, view: WorldView, *, id: str) -> None:  # noqa: A002 (Textual's word)
        super().__init__(id=id)
        self.view = view
        self._strips: dict[int, Strip] = {}
        self._fixed: tuple[Content | None, Content | None] | None = None

    # ---- what a pane says -----------------------------------------------------------------------
    @property
    def lines(self) -> int:
        """The number of lines."""
        raise NotImplementedError

    def line(self, number: int) -> Content:
        """A line, also one below the last."""
        raise NotImplementedError

    def heading(self) -> Content | None:
        """The line above; None if there is none."""
        return None

    def status(self) -> Content | None:
        """The line below; None if there is none."""
        return None

    def is_marked_at(self, number: int) -> bool:
        """Whether a line belongs to what is marked."""
        return False

    # ---- scrolling ------------------------------------------------------------------------------
    @property
    def fixed(self) -> tuple[Content | None, Content | None]:
        """Heading and status, as they were when all was drawn again."""
        if self._fixed is None:
            self._fixed = self.heading(), self.status()
        return self._fixed

    @property
    def above(self) -> int:
        """Lines of the heading."""
        return int(self.fixed[0] is not None)

    @property
    def body(self) -> int:
        """Lines that are seen between heading and status."""
        return max(1, self.size.height - self.above - int(self.fixed[1] is not None))

    def line_at(self, y: int) -> int:
        """The line that is seen in a row of the pane."""
        return y + int(self.scroll_y) - self.above

    def redraw(self) -> None:
        """Draw all lines again."""
        self._strips.clear()
        self._fixed = None
        rest = self.size.height - self.body
        size = Size(self.scrollable_content_region.width, self.lines + rest)
        if self.virtual_size != size:
            self.virtual_size = size
            self.scroll_y = self.validate_scroll_y(self.scroll_y)
        self.refresh()

    def go_to(self, number: int) -> None:
        """Scroll so that a line is the first one seen."""
        self.scroll_to(y=max(0, number), animate=False, immediate=True)

    def show_lines(self, start: int, stop: int) -> None:
        """Scroll only if one of these lines is not seen."""
        top = int(self.scroll_y)
        if start < top or stop > top + self.body:
            self.go_to(start - self.body // 2)

    # ---- drawing --------------------------------------------------------------------------------
    def notify_style_update(self) -> None:
        """Another theme: draw with its colours."""
        super().notify_style_update()
        self._strips.clear()

    def render_line(self, y: int) -> Strip:
        """A row of the pane."""
        heading, status = self.fixed
        if heading is not None and y == 0:
            return self._drawn(heading)
        if status is not None and y == self.size.height - 1:
            return self._drawn(status)
        number, at = self.line_at(y), y + int(self.scroll_y)
        if (strip := self._strips.get(number)) is None:
            strip = self._strips[number] = self._drawn(self.line(number))
        if self.is_marked_at(number):
            strip = self._marked(strip)
        return self.selected(strip, at).apply_offsets(0, at)

    def _drawn(self, content: Content) -> Strip:
        """One line as wide as the pane."""
        width = self.scrollable_content_region.width
        found = Visual.to_strips(
            self, content, width, 1, self.visual_style, apply_selection=False, pad=True
        )
        return found[0] if found else Strip.blank(width, self.rich_style)

    def _marked(self, strip: Strip) -> Strip:
        """With another ground, and a bar where nothing stands: not all terminals show grounds."""
        style = self.get_component_rich_style("scrolled--marked")
        ground = Style(bgcolor=style.bgcolor)
        found = Strip(Segment.apply_style(strip, post_style=ground), strip.cell_length)
        if strip.text.startswith(" "):
            bar = Strip([Segment(_BAR, Style(color=style.color, bgcolor=style.bgcolor))])
            found = Strip.join([bar, found.crop(1)])
        return found

    def selection_updated(self, selection: Selection | None) -> None:
        """Another part is selected."""
        super().selection_updated(selection)
        self.refresh()

    @property
    def shown(self) -> Content:
        """All lines as text."""
        heading = self.heading()
        lines = [heading] if heading is not None else []
        lines += [self.line(number) for number in range(self.lines)]
        return Content("\n".join(line.plain.rstrip() for line in lines))

    def text(self) -> str:
        """All lines."""
        return self.shown.plain if self.is_mounted else super().text()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected part of the lines."""
        return selection.extract(self.shown.plain), "\n"
