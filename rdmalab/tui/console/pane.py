"""The console pane: transcript above, live prompt below; keys of Textual for the prompt."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Self, cast

from prompt_toolkit.data_structures import Point
from prompt_toolkit.formatted_text import AnyFormattedText, split_lines, to_formatted_text
from prompt_toolkit.input.ansi_escape_sequences import REVERSE_ANSI_SEQUENCES
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys
from prompt_toolkit.mouse_events import MouseButton, MouseEventType
from textual import events, on
from textual.geometry import Offset, Size
from textual.keys import key_to_character
from textual.message import Message
from textual.strip import Strip

from rdmalab.shell.styled_text import Line, Row
from rdmalab.tui.console.live import LivePrompt, PaneOutput
from rdmalab.tui.console.paint import plain
from rdmalab.tui.console.transcript import Transcript
from rdmalab.tui.scrolled import LineView

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_toolkit import PromptSession
    from prompt_toolkit.styles import BaseStyle
    from textual.selection import Selection

    from rdmalab.shell.prompt import Evaluate

LEAVE_KEYS = frozenset({"f6", "shift+f6", "f1", "f2", "f7", "f8", "f9", "ctrl+q", "ctrl+z"})
TRANSCRIPT_LINES_MAX = 5000
_PAGES = {"pageup": -1, "shift+pageup": -1, "pagedown": 1, "shift+pagedown": 1}


_ESCAPE = KeyPress(Keys.Escape, "\x1b")
_BY_NAME = {key.value: key for key in Keys}
_META = frozenset({"alt", "meta", "super"})
_FUNCTION_KEY = re.compile(r"f(\d+)")

# Only what is called differently on the two sides; all other names can be computed.
_SAME_KEY = {
    "enter": Keys.ControlM, "newline": Keys.ControlJ, "ctrl+enter": Keys.ControlJ,
    "tab": Keys.ControlI, "backspace": Keys.ControlH, "shift+backspace": Keys.ControlH,
    "ctrl+backspace": Keys.ControlW, "ctrl+at": Keys.ControlAt, "ctrl+space": Keys.ControlAt,
    "ctrl+backslash": Keys.ControlBackslash, "ctrl+underscore": Keys.ControlUnderscore,
    "ctrl+right_square_bracket": Keys.ControlSquareClose, "ctrl+slash": Keys.ControlUnderscore,
    "ctrl+circumflex_accent": Keys.ControlCircumflex,
}  # fmt: skip
_MOUSE = {
    events.MouseDown: MouseEventType.MOUSE_DOWN, events.MouseUp: MouseEventType.MOUSE_UP,
    events.MouseScrollUp: MouseEventType.SCROLL_UP,
    events.MouseScrollDown: MouseEventType.SCROLL_DOWN,
}  # fmt: skip


class Console(LineView, can_focus=True):
    """A prompt_toolkit session in a pane. LEAVE_KEYS are never swallowed by the prompt."""

    DEFAULT_CSS = "Console { height: 1fr; }"

    class Closed(Message):
        """The session ended: ^D, or `evaluate` returned False."""

    class Interrupted(Message):
        """^C while a line is being evaluated."""

    def __init__(
        self,
        make_session: Callable[..., PromptSession[str]],
        evaluate: Evaluate,
        id: str | None = None,  # noqa: A002 (Textual's word)
    ) -> None:
        super().__init__(id=id)
        self._evaluate = evaluate
        self._transcript = Transcript(
            TRANSCRIPT_LINES_MAX,
            lambda line: self.live.paint.line(line),  # noqa: PLW0108 (`dye` makes another paint)
        )
        self._live_rows: list[Strip] = []
        self._following = True
        self.live = LivePrompt(
            make_session,
            PaneOutput(lambda: self.app, erase=self.clear),
            # In our own turn, not in prompt_toolkit's: there asyncio would swallow an exception.
            rendered=lambda: self.call_next(self._show_prompt),
        )

    @property
    def busy(self) -> bool:
        """Whether a line is being evaluated."""
        return self.live.busy

    @property
    def has_more(self) -> bool:
        """Whether further lines or keys wait to be read."""
        return self.live.has_more

    def on_mount(self) -> None:
        """Start to read and evaluate lines in a worker."""
        self.run_worker(self._converse(), name="console")

    async def _converse(self) -> None:
        await self.live.converse(self._evaluate, self.write)
        self.post_message(self.Closed())

    # ---- what the application says ------------------------------------------------------------

    def write(self, fragments: AnyFormattedText | Line) -> None:
        """Add lines to the transcript, in prompt_toolkit's formatted text."""
        lines: list[Line] = [fragments] if isinstance(fragments, Row) else _lines(fragments)
        gone = sum(map(self._transcript.append, lines))
        self._settle()
        if gone and not self._following:
            self.scroll_to(y=self.scroll_y - gone, animate=False)
        self.refresh()
        self.live.redraw()

    def clear(self) -> None:
        """Remove all printed lines and redraw the prompt."""
        self._transcript.clear()
        self._settle()
        self.refresh()
        self.live.redraw()

    def dye(self, styles: BaseStyle) -> None:
        """Draw the prompt and all printed lines in these styles."""
        self.live.dye(styles)
        self._transcript.redraw()
        self.refresh()

    def say(self, line: str | Callable[[], str]) -> None:
        """Evaluate a line as if it had been typed, for a key that runs a command.

        line: a function chooses it when the lines before it have been carried out.
        """
        self._return_to_prompt()
        self.call_later(self.live.say, line)  # after the keys that this widget has not read yet

    def show_last(self, rows: int) -> None:
        """Scroll so that so many printed rows are read from their first one; a key ends that."""
        self.scroll_to(y=len(self._transcript.rows) - rows, animate=False, immediate=True)

    def type_in(self, text: str) -> None:
        """Type a text, if nothing is typed yet, and show it."""
        self._return_to_prompt()
        self.live.type_in(text)

    def press(self, key: str) -> None:
        """Press a key of the prompt, as Textual names it."""
        self.live.feed(key_presses(key, None))

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
            self.scroll_end(animate=False, immediate=True, x_axis=False)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Scroll; new output is followed only while the last row is visible."""
        super().watch_scroll_y(old_value, new_value)
        self._following = self.is_vertical_scroll_end

    def render_line(self, y: int) -> Strip:
        """Row `y` of the visible part, with the selection marked."""
        width = self.scrollable_content_region.width
        y += self.scroll_offset.y
        row = self.selected(self._row(y).crop_extend(0, width, None), y)
        if self.live.paint.colour:
            row = row.apply_style(self.rich_style)
        return row.apply_offsets(0, y)

    def _row(self, y: int) -> Strip:
        written = self._transcript.rows
        rows, y = (written, y) if y < len(written) else (self._live_rows, y - len(written))
        return rows[y] if y < len(rows) else Strip([])

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text and a newline as its separator."""
        return selection.extract(plain([*self._transcript.rows, *self._live_rows])), "\n"

    # ---- what is heard ------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        """Scroll a page, interrupt the run (^C), or send the key to the prompt."""
        if event.key in LEAVE_KEYS or (event.key == "ctrl+c" and self._has_selection()):
            return
        if event.key in _PAGES:
            rows = max(1, self.scrollable_content_region.height - 1)
            self.scroll_relative(y=_PAGES[event.key] * rows, animate=False)
        elif event.key == "ctrl+c" and self.busy:
            self.post_message(self.Interrupted())
        elif not self.take_key(event.key, event.character):
            return
        event.stop()
        event.prevent_default()

    def take_key(self, key: str, character: str | None) -> bool:
        """Send a key to the prompt; False if the prompt knows none of this name."""
        if presses := key_presses(key, character):
            self._return_to_prompt()
            self.live.feed(presses)
        return bool(presses)

    def on_paste(self, event: events.Paste) -> None:
        """Scroll to the prompt and insert the text."""
        event.stop()
        event.prevent_default()
        self._return_to_prompt()
        self.live.paste(event.text)

    def _has_selection(self) -> bool:
        return bool(self.screen.get_selected_text())  # ^C then copies, which is the screen's work

    def _return_to_prompt(self) -> None:
        self.screen.clear_selection()
        self._following = True
        self._settle()

    def fit(self) -> None:
        """Wrap the printed lines at the new width and resize the prompt."""
        region = self.scrollable_content_region
        self._transcript.wrap(max(1, region.width))
        self._settle()
        self.refresh()
        self.live.resize(region.width, region.height)

    def focus(self, scroll_visible: bool = True) -> Self:
        """Take the focus at once: Textual's own comes after the keys that are typed meanwhile."""
        self.screen.set_focus(self, scroll_visible)
        return self

    def on_focus(self) -> None:
        """Redraw the prompt: the cursor is a part of it."""
        self.live.redraw()

    on_blur = on_focus

    def _row_at(self, event: events.MouseEvent) -> tuple[int, int]:
        """The row under the pointer, and the column; row -1 if there is none."""
        at = event.get_content_offset(self)  # event.x counts the border, the rows do not
        return (at.y + self.scroll_offset.y, at.x) if at is not None else (-1, 0)

    def text_at(self, event: events.MouseEvent) -> tuple[str, int]:
        """The printed row under the pointer, and the column; empty if there is none."""
        (y, x), rows = self._row_at(event), self._transcript.rows
        return (rows[y].text, x) if 0 <= y < len(rows) else ("", 0)

    @on(events.MouseDown)
    @on(events.MouseUp)
    @on(events.MouseScrollUp)
    @on(events.MouseScrollDown)
    def _mouse(self, event: events.MouseEvent) -> None:
        """Send to the prompt what happens on its rows: the wheel only turns its open menu."""
        y, x = self._row_at(event)
        y -= len(self._transcript.rows)
        turns = isinstance(event, events.MouseScrollUp | events.MouseScrollDown)
        selects = isinstance(event, events.MouseUp) and self._has_selection()
        if selects or (turns and not self.live.menu_is_open) or not 0 <= y < len(self._live_rows):
            return
        button = MouseButton.NONE if turns else MouseButton.LEFT
        if self.live.mouse(Point(x=x, y=y), _MOUSE[type(event)], button) and turns:
            event.stop()
            event.prevent_default()


def _lines(fragments: AnyFormattedText | Line) -> list[Line]:
    """Formatted text as lines."""
    fragments_of_line = to_formatted_text(cast("AnyFormattedText", fragments))
    return [[(style, text) for style, text, *_ in line] for line in split_lines(fragments_of_line)]


def key_presses(key: str, character: str | None) -> list[KeyPress]:
    """Nothing for a key that prompt_toolkit has no name for."""
    *modifiers, base = key.rsplit("+", key.count("+")) if key != "+" else ["+"]
    held = set(modifiers)
    if base == "enter" and "shift" in held:  # a terminal that tells them apart means: new line
        held = {"alt"}
    prefix = [_ESCAPE] if held & _META else []
    held -= _META
    named = _named_key(held, base)
    if named is not None:
        return [*prefix, _press(named)]
    text = None if "ctrl" in held else _text(held, base, character)
    return [*prefix, KeyPress(text)] if text else []


def _named_key(held: set[str], base: str) -> Keys | None:
    order = [name for name in ("ctrl", "shift") if name in held]
    if same := _SAME_KEY.get("+".join([*order, base])):
        return same
    if "shift" in held and (function := _FUNCTION_KEY.fullmatch(base)):
        # prompt_toolkit counts on where terminals do: Shift+F1 is F13.
        base, order = f"f{int(function[1]) + 12}", [name for name in order if name != "shift"]
    if "ctrl" in held and len(base) == 1 and base.isalpha():
        order = ["ctrl"]
    return _BY_NAME.get("-".join([*(name[0] for name in order), base.lower() if order else base]))


def _text(held: set[str], base: str, character: str | None) -> str | None:
    if character is not None and len(character) == 1 and character.isprintable():
        return character
    typed = key_to_character(base)
    return typed.upper() if typed and "shift" in held else typed


def _press(key: Keys) -> KeyPress:
    return KeyPress(key, REVERSE_ANSI_SEQUENCES.get(key, key.value))
