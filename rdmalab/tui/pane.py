"""Base of all panes: a frame with lines, a mark, a filter, copying.

A pane keeps no state of the world, only its scroll position: each repaint reads the rows again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from rdmalab.shell.styled_text import Line, in_ascii, text_of
from rdmalab.tui.console.paint import Paint
from rdmalab.tui.frame import TITLE, border, cropped, edge, title_of_tabs, width_of
from rdmalab.tui.text_filter import TextFilter

if TYPE_CHECKING:
    from prompt_toolkit.styles import BaseStyle
    from textual import events

    from rdmalab.tui.layout import PanePlace
    from rdmalab.tui.world_view import WorldView

MARKED = "class:marked"
_NARROWEST = 20  # lines are made so wide at least, and cut
_COMMON = {ord("⏲"): "◷"}  # fonts that have no stopwatch have this


class Appearance:
    """How things are drawn on this terminal."""

    def __init__(self, styles: BaseStyle, *, colour: bool, ascii_only: bool) -> None:
        self.styles = styles
        self.paint = Paint(styles, colour=colour)
        self.ascii_only = ascii_only

    def spelled(self, line: Line) -> Line:
        """In the characters that this terminal has; a line may grow by it, so this comes first."""
        if self.ascii_only:
            return in_ascii(line)
        return [(style, text.translate(_COMMON)) for style, text in line]

    def strip(self, line: Line) -> Strip:
        """A line of the right width, painted."""
        cut = "." if self.ascii_only else "…"
        return self.paint.line([(style, text.replace("…", cut)) for style, text in line])


class Pane(Widget, can_focus=True):
    """A frame with lines. Subclasses define `title` and `lines`."""

    DEFAULT_CSS = "Pane { position: absolute; }"
    OWN_KEYS: ClassVar[dict[str, str]] = {}
    """The keys that only this pane has, with their labels in the footer."""
    heading = ""
    """What stands before the title where the pane is in no row of tabs."""

    def __init__(self, name: str, stage: WorldView, look: Appearance) -> None:
        super().__init__(id=name)
        self.stage = stage
        self.look = look
        self.place: PanePlace | None = None
        self.tab_names: list[str] = []
        self.filter = TextFilter()
        self.top: int | None = None  # None: follow the newest
        self._rows: list[Strip] = []
        self._drawn: list[Line] = []
        self._body: list[Line] = []

    # ---- what a pane is about -----------------------------------------------------------------

    def title(self) -> Line:
        """The text of the upper border after the tabs."""
        return []

    def lines(self, width: int, height: int) -> list[Line]:
        """The lines; more than `height` can be scrolled."""
        raise NotImplementedError

    def sentences(self) -> list[str]:
        """The command that prints the same."""
        return []

    def hint(self) -> str:
        """A hint in the lower border while the pane has the focus."""
        return ""

    def foot(self) -> Line:
        """The text of the lower border; the number of hidden lines if empty."""
        return []

    def action_inspect(self) -> None:
        """Enter: show details of the marked row."""

    def action_other(self, noun: str, direction: int) -> None:
        """Show the next or previous object; `noun` empty: of what the pane is about."""

    def breakpoint(self) -> str:
        """The command for a breakpoint at the marked row; empty if there is none."""
        return ""

    def own_keys(self) -> list[tuple[str, str]]:
        """(key, label) of those keys of `OWN_KEYS` that apply now."""
        return []

    def says(self, key: str) -> str:
        """The command of a key of this pane; empty if none."""
        del key
        return ""

    def escape(self) -> bool:
        """Go back one level; False if there is none."""
        return False

    # ---- moving about -------------------------------------------------------------------------

    def action_move(self, rows: int) -> None:
        """Scroll by `rows` lines; positive is down."""
        height = self.body_height
        last = max(0, len(self._body) - height)
        top = self._top(height) if self.top is None else self.top
        top = max(0, min(last, top + rows))
        self.top = None if self.follows and top >= last else top
        self.redraw()

    def action_page(self, direction: int) -> None:
        """Scroll by one page: down (1) or up (-1)."""
        self.action_move(direction * max(1, self.body_height - 1))

    def action_end(self, direction: int) -> None:
        """Scroll to the last (1) or the first (-1) line."""
        self.action_move(direction * 10**9)

    follows = False  # whether the newest stands at the end

    @property
    def body_height(self) -> int:
        return max(0, self.place.height - 2) if self.place else 0

    def _top(self, height: int) -> int:
        if self.top is not None:
            return max(0, min(self.top, len(self._body) - height))
        return max(0, len(self._body) - height) if self.follows else 0

    def action_filter(self) -> None:
        """Start to type a filter in the border."""
        self.filter.asking = True
        self.redraw()

    def on_key(self, event: events.Key) -> None:
        """Use the key for the filter while the filter is typed."""
        if self.filter.take(event):
            event.stop()
            event.prevent_default()
            self.top = None
            self.redraw()

    # ---- drawing ------------------------------------------------------------------------------

    def redraw(self) -> None:
        """Read the rows again; equal rows are not painted again."""
        if self.place is None or not self.display:
            return
        width, height = self.place.width, self.place.height
        with self.stage.frame():
            lines = self._framed(width, height)
        rows = self._painted(lines, width)
        self._drawn = lines
        old, self._rows = self._rows, rows
        if len(old) != len(rows):
            self.refresh()
            return
        for y, (before, after) in enumerate(zip(old, rows, strict=True)):
            if before != after:
                self.refresh(Region(0, y, width, 1))

    def _painted(self, lines: list[Line], width: int) -> list[Strip]:
        """The lines as strips; equal ones are reused from the last frame."""
        known = list(zip(self._drawn, self._rows, strict=False))
        rows = []
        for y, line in enumerate(lines):
            if y < len(known) and known[y][0] == line and known[y][1].cell_length == width:
                rows.append(known[y][1])
            else:
                rows.append(self.look.strip(line).crop_extend(0, width, None))
        return rows

    def _framed(self, width: int, height: int) -> list[Line]:
        drawn = border(focused=self.has_focus, ascii_only=self.look.ascii_only)
        style = "class:frame.focused" if self.has_focus else "class:frame"
        inner_width, inner_height = width - 2, max(0, height - 2)
        spelled = self.look.spelled
        self._body = [spelled(x) for x in self.lines(max(_NARROWEST, inner_width), inner_height)]
        top = self._top(inner_height)
        shown = self._body[top : top + inner_height]
        shown += [[] for _ in range(inner_height - len(shown))]
        rows = [edge(drawn, width, spelled(self._title()), style)]
        side = (style, drawn.down)
        rows += [[side, *_padded(line, inner_width), side] for line in shown]
        foot = spelled(self._foot(top, inner_height))
        return [*rows, edge(drawn, width, foot, style, bottom=True)][:height]

    def _title(self) -> Line:
        tabs = list(self.place.tabs) if self.place else []
        room = self.place.width - 8 if self.place else 0
        line: Line = []
        if tabs and self.id in tabs:
            line = [*title_of_tabs(self.tab_names, tabs.index(self.id), room), ("", " ")]
        elif self.heading:
            line = [(TITLE, self.heading), ("", "  ")]
        said = self.title()
        if self.filter.pattern and not self.filter.asking:
            said = [*said, ("class:warn", f" /{self.filter.pattern}")]
        return [*line, *said]

    def _foot(self, top: int, height: int) -> Line:
        if self.filter.asking:
            return [(TITLE, f"show only: {self.filter.pattern}"), ("class:marked", " ")]
        below = len(self._body) - top - height
        parts = [f"{top} above"] if top > 0 else []
        parts += [f"{below} below"] if below > 0 else []
        if self.has_focus and (hint := self.hint()):
            parts.insert(0, hint)
        return [("class:dim", "  ".join(parts))] if parts else self.foot()

    def render_line(self, y: int) -> Strip:
        """Row `y` as painted last; blank below the last row."""
        return self._rows[y] if y < len(self._rows) else Strip.blank(self.size.width)

    def text(self) -> str:
        """The pane as plain text, all of it."""
        width = self.place.width if self.place else 80
        body = self.lines(max(20, width - 2), max(self.body_height, 1000))
        return "\n".join(text_of(line).rstrip() for line in body)

    def on_focus(self) -> None:
        """Redraw with the border of the focused pane."""
        self.redraw()

    def on_blur(self) -> None:
        """End the input of the filter and redraw."""
        self.filter.asking = False
        self.redraw()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Scroll down by 3 rows."""
        self.action_move(3)
        event.stop()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Scroll up by 3 rows."""
        self.action_move(-3)
        event.stop()


def _padded(line: Line, width: int) -> Line:
    line = cropped(line, width)
    return [*line, ("", " " * (width - width_of(line)))]


def marked(line: Line, width: int) -> Line:
    """The line in reverse, to the end."""
    text = text_of(line)[:width]
    return [(MARKED, text.ljust(width))]
