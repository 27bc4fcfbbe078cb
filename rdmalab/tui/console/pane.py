"""The console pane: transcript above, live prompt below, both in one scrolling view."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_toolkit.data_structures import Point
from prompt_toolkit.formatted_text import split_lines, to_formatted_text
from prompt_toolkit.mouse_events import MouseButton, MouseEventType
from textual.geometry import Offset, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from rdmalab.shell.styled_text import harmless_line
from rdmalab.tui.console.bridge import PaneOutput, SigwinchGuard
from rdmalab.tui.console.keymap import key_presses
from rdmalab.tui.console.live import LivePrompt
from rdmalab.tui.console.paint import plain
from rdmalab.tui.console.transcript import Transcript

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_toolkit import PromptSession
    from prompt_toolkit.formatted_text import AnyFormattedText
    from textual import events
    from textual.selection import Selection

    from rdmalab.shell.prompt import Evaluate

LEAVE_KEYS = frozenset({"f6", "shift+f6", "f1", "f2", "f7", "f8", "f9", "ctrl+q", "ctrl+z"})
TRANSCRIPT_LINES_MAX = 5000
_PAGES = {"pageup": -1, "shift+pageup": -1, "pagedown": 1, "shift+pagedown": 1}


class Console(ScrollView, can_focus=True):
    """A prompt_toolkit session in a pane. `leave_keys` are never swallowed by the prompt."""

    DEFAULT_CSS = """
    Console {
        height: 1fr;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-gutter: stable;
        scrollbar-size-vertical: 1;
    }
    """

    class Closed(Message):
        """The session ended: ^D, or `evaluate` returned False."""

    class Interrupted(Message):
        """^C while a line is being evaluated."""

    def __init__(
        self,
        make_session: Callable[..., PromptSession[str]],
        evaluate: Evaluate,
        *,
        leave_keys: frozenset[str] = LEAVE_KEYS,
        id: str | None = None,  # noqa: A002 (Textual's word)
    ) -> None:
        super().__init__(id=id)
        self.leave_keys = leave_keys
        self._evaluate = evaluate
        self._transcript = Transcript(TRANSCRIPT_LINES_MAX)
        self._live_rows: list[Strip] = []
        self._following = True
        self.live = LivePrompt(
            make_session,
            PaneOutput(bell=self._bell, erase=self.clear),
            SigwinchGuard(wanted=lambda: self.app.is_running),
            # In our own turn, not in prompt_toolkit's: there asyncio would swallow an exception.
            rendered=lambda: self.call_next(self._show_prompt),
        )

    def _bell(self) -> None:
        self.app.bell()  # not at construction: then there is no application yet

    @property
    def busy(self) -> bool:
        """A line is being evaluated."""
        return self.live.busy

    def on_mount(self) -> None:
        """Start to read and evaluate lines in a worker."""
        self.run_worker(self._converse(), name="console")

    async def _converse(self) -> None:
        await self.live.converse(self._evaluate, self.write)
        self.post_message(self.Closed())

    # ---- what the application says ------------------------------------------------------------

    def write(self, fragments: AnyFormattedText) -> None:
        """Add lines to the transcript, in prompt_toolkit's formatted text."""
        said = to_formatted_text(fragments)
        lines = split_lines(harmless_line((part[0], part[1]) for part in said))
        gone = sum(self._transcript.append(self.live.paint.line(line)) for line in lines)
        self._settle()
        if gone and not self._following:
            self.scroll_to(y=self.scroll_y - gone, animate=False, force=True)
        self.refresh()
        self.live.redraw()

    def clear(self) -> None:
        """Remove all printed lines and redraw the prompt."""
        self._transcript.clear()
        self._settle()
        self.refresh()
        self.live.redraw()

    def say(self, line: str) -> None:
        """Evaluate a line as if it had been typed, for a key that runs a command."""
        self.live.say(line)

    def type_in(self, text: str) -> None:
        """Type a text, if nothing is typed yet."""
        self.live.type_in(text)

    def press(self, key: str) -> None:
        """Press a key of the prompt, as Textual names it."""
        self.live.feed(key_presses(key, None))

    def redraw_prompt(self) -> None:
        """The message or the toolbar would say something else now."""
        self.live.redraw()

    # ---- what is seen -------------------------------------------------------------------------

    def _show_prompt(self) -> None:
        cursor = self.live.cursor() if self.has_focus else None
        before, self._live_rows = self._live_rows, self.live.rows(cursor=cursor)
        if len(before) == len(self._live_rows):
            for y, (old, new) in enumerate(zip(before, self._live_rows, strict=True)):
                if old != new:
                    self.refresh_line(len(self._transcript.rows) + y)
        else:
            self.refresh()
        self._settle()
        if cursor is not None:  # where an input method draws its candidates
            y = cursor.y + len(self._transcript.rows) - self.scroll_offset.y
            self.app.cursor_position = self.scrollable_content_region.offset + Offset(cursor.x, y)

    def _settle(self) -> None:
        """The view is as long as its rows, and stays at the end unless scrolled back."""
        self.live.output.rows_above = len(self._transcript.rows)
        self.virtual_size = Size(
            self.scrollable_content_region.width, len(self._transcript.rows) + len(self._live_rows)
        )
        if self._following:
            # By force: the scrollbar that would permit it appears only with the next layout.
            self.scroll_end(animate=False, force=True, immediate=True, x_axis=False)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Scroll; new output is followed only while the last row is visible."""
        super().watch_scroll_y(old_value, new_value)
        self._following = self.is_vertical_scroll_end

    def render_line(self, y: int) -> Strip:
        """Row `y` of the visible part, with the selection marked."""
        width = self.scrollable_content_region.width
        y += self.scroll_offset.y
        row = self._row(y).crop_extend(0, width, None)
        row = self._with_selection(row, y)
        if self.live.paint.colour:
            row = row.apply_style(self.rich_style)
        return row.apply_offsets(0, y)

    def _row(self, y: int) -> Strip:
        written = self._transcript.rows
        if y < len(written):
            return written[y]
        y -= len(written)
        return self._live_rows[y] if y < len(self._live_rows) else Strip([])

    def _with_selection(self, row: Strip, y: int) -> Strip:
        selection = self.text_selection
        span = selection.get_span(y) if selection is not None else None
        if span is None:
            return row
        start, end = span[0], row.cell_length if span[1] == -1 else span[1]
        chosen = row.crop(start, end).apply_style(self.live.paint.style("reverse"))
        return Strip.join([row.crop(0, start), chosen, row.crop(end, row.cell_length)])

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text and a newline as its separator."""
        return selection.extract(plain([*self._transcript.rows, *self._live_rows])), "\n"

    # ---- what is heard ------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        """Scroll a page, interrupt the run (^C), or send the key to the prompt."""
        if event.key in self.leave_keys or (event.key == "ctrl+c" and self._has_selection()):
            return
        if event.key in _PAGES:
            self._turn_page(_PAGES[event.key])
        elif event.key == "ctrl+c" and self.busy:
            self.post_message(self.Interrupted())
        elif presses := key_presses(event.key, event.character):
            self._return_to_prompt()
            self.live.feed(presses)
        else:
            return
        event.stop()
        event.prevent_default()

    def on_paste(self, event: events.Paste) -> None:
        """Scroll to the prompt and insert the text."""
        event.stop()
        event.prevent_default()
        self._return_to_prompt()
        self.live.paste(event.text)

    def _has_selection(self) -> bool:
        return bool(self.screen.get_selected_text())  # ^C then copies, which is the screen's work

    def _turn_page(self, direction: int) -> None:
        rows = max(1, self.scrollable_content_region.height - 1)
        self.scroll_relative(y=direction * rows, animate=False, force=True)

    def _return_to_prompt(self) -> None:
        self.screen.clear_selection()
        self._following = True
        self._settle()

    def on_resize(self, _event: events.Resize) -> None:
        """Wrap the printed lines at the new width and resize the prompt."""
        region = self.scrollable_content_region
        self._transcript.wrap(max(1, region.width))
        self._settle()
        self.refresh()
        self.live.resize(region.width, region.height)

    def on_focus(self) -> None:
        """Redraw the prompt with its cursor."""
        self.live.redraw()  # the cursor is part of the picture

    def on_blur(self) -> None:
        """Redraw the prompt without its cursor."""
        self.live.redraw()

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Send a press on the prompt's rows to the prompt."""
        self._mouse(event, MouseEventType.MOUSE_DOWN)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """Send a release to the prompt, unless text is selected."""
        if not self._has_selection():
            self._mouse(event, MouseEventType.MOUSE_UP)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Scroll the completion menu up if the pointer is on it, else the transcript."""
        self._wheel(event, MouseEventType.SCROLL_UP)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Scroll the completion menu down if the pointer is on it, else the transcript."""
        self._wheel(event, MouseEventType.SCROLL_DOWN)

    def _wheel(self, event: events.MouseEvent, kind: MouseEventType) -> None:
        """The wheel turns the menu when it is open and under the pointer, else the transcript."""
        if self.live.menu_is_open and self._mouse(event, kind, MouseButton.NONE):
            event.stop()
            event.prevent_default()

    def _mouse(
        self, event: events.MouseEvent, kind: MouseEventType, button: MouseButton = MouseButton.LEFT
    ) -> bool:
        at = event.get_content_offset(self)  # event.x counts the border, the prompt does not
        if at is None:
            return False
        y = at.y + self.scroll_offset.y - len(self._transcript.rows)
        if not 0 <= y < len(self._live_rows):
            return False
        return self.live.mouse(Point(x=at.x, y=y), kind, button)
