"""A page: a text that is read from its beginning, with what can be done about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from rdmalab.shell.styled_text import Line, relaid, text_of
from rdmalab.tui.bars import Keys
from rdmalab.tui.content import content, linked
from rdmalab.tui.finding import following, rows_with, with_marks
from rdmalab.tui.keys import Letter
from rdmalab.tui.layouts import Cover

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual import events
    from textual.app import ComposeResult
    from textual.await_complete import AwaitComplete

    from rdmalab.tui.app import Rdmalab


_WIDEST = 110  # columns of the text as a copy
_WAYS = {"up": "up", "down": "down", "home": "home", "end": "end", "pageup": "page_up",
         "pagedown,space": "page_down"}  # fmt: skip


class PageKey(NamedTuple):
    """A key of one page. line: the command that it carries out; opens: its answer is a page.

    letter: its key in a pane, where no line is typed. digit: the same on each page that has it; 0:
    the next one.
    """

    label: str
    line: str
    opens: bool = False
    letter: str = ""
    digit: int = 0

    @property
    def action(self) -> str:
        """Action of the key, as Textual writes it."""
        return f"carry_out({self.line!r}, {self.opens})"


class Sheet(VerticalScroll, can_focus=False):
    """The text of a page."""

    def on_resize(self) -> None:
        """Other rows are seen."""
        self.call_after_refresh(self.screen.place)  # type: ignore[attr-defined]


class TextScreen(ModalScreen[None], Cover[None]):
    """A screen on which a letter begins the next command at the prompt.

    So no line loses its beginning. Its own keys are digits: no command begins with one. `q` closes
    the screen, as in `less`; where the next letter follows at once, both begin a command.
    """

    app: Rdmalab
    _is_left = False  # what is typed now belongs to the prompt

    def on_key(self, event: events.Key) -> None:
        """A letter without a meaning here begins a command.

        Alt and a letter is how a terminal sends Esc and a letter that was typed at once.
        """
        key = event.key.removeprefix("alt+") if event.is_printable else event.key
        is_bound = event.key in self._bindings.key_to_bindings
        letter, self.app.letter = self.app.letter, None
        if letter is not None and letter.begins_line(event):  # the app had no time to see both
            self.leave()
            self.app.prompt.take_key(letter.event.key, letter.character)
        is_free = not (self._is_left or self.is_typing)
        begins = is_free and event.is_printable and not is_bound and self.has_prompt
        if event.key == "q" and is_free:
            if self.has_prompt:
                self.app.letter = Letter(event, None, is_held=False)
            self.dismiss()
        elif self._is_left or begins:
            self.leave()
            self.app.prompt.take_key(key, event.character)
        else:
            return
        event.stop()
        event.prevent_default()

    def on_paste(self, event: events.Paste) -> None:
        """A pasted text is for the prompt."""
        if not self.is_typing:
            self.leave()
            self.app.prompt.on_paste(event)

    @property
    def has_prompt(self) -> bool:
        """Whether the prompt is on the screen below: in a lecture it is not."""
        return self.app.screen_stack[-2:-1] in ([self.app.main], [])

    @property
    def is_typing(self) -> bool:
        """Whether a text is typed here."""
        return isinstance(self.focused, Input)

    def dismiss(self, result: None = None) -> AwaitComplete:
        """Close the screen; keys that it has not read yet go where those after it go."""
        self._is_left = self._is_left or (
            self.app.is_ready and self.has_prompt and self.app.main.focused is self.app.prompt
        )
        return super().dismiss(result)

    def leave(self) -> None:
        """Close the screen; this key and all later ones belong to the prompt."""
        if not self._is_left:
            self._is_left = True
            self.dismiss()
            self.app.prompt.focus()


class Page(TextScreen):
    """lines: of the shell; they are folded for the width of the page."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter,f1", "dismiss", "Back"),
        *(Binding(keys, f"scroll('{way}')", way, show=False) for keys, way in _WAYS.items()),
    ]

    def __init__(self, title: str, lines: Iterable[Line], keys: Iterable[PageKey] = ()) -> None:
        super().__init__()
        self.heading = title
        self.lines = list(lines)
        number = 0
        for key in keys:
            number = key.digit or number + 1
            self._bindings.bind(str(number), key.action, key.label)
        self._bindings.bind(str(number + 1), "copy", "Copy")
        self._bindings.bind("slash", "find", "Find")
        self._rows: list[Content] = []
        self._wanted = ""
        self._at = -1  # the row that was found

    def compose(self) -> ComposeResult:
        """The text, and the line in which one types what is sought."""
        with Sheet(id="sheet") as sheet:
            sheet.border_title = Content(self.heading)
            yield Static(id="text")
        yield Input(placeholder="find", compact=True, id="sought")
        yield Keys()

    def on_mount(self) -> None:
        """Say which rows are seen."""
        self.query_one("#sought").display = False
        self.watch(self._sheet, "scroll_y", self.place, init=False)

    def on_resize(self) -> None:
        """Fold the lines for the new width."""
        self.call_after_refresh(self._draw)

    @property
    def _sheet(self) -> VerticalScroll:
        return self.query_one("#sheet", VerticalScroll)

    @property
    def text(self) -> str:
        """The whole text."""
        return "\n".join(map(text_of, relaid(self.lines, _WIDEST)))

    def _draw(self) -> None:
        if not self.is_current:  # it was left before this refresh
            return
        width = self._sheet.scrollable_content_region.width
        self._rows = [linked(content(row)) for row in relaid(self.lines, width)]
        self._show()

    def _show(self) -> None:
        rows = self._rows
        if self._wanted:
            rows = [
                with_marks(row, self._wanted, is_here=at == self._at) for at, row in enumerate(rows)
            ]
        self.query_one("#text", Static).update(Content("\n").join(rows))
        self.call_after_refresh(self.place)

    def place(self) -> None:
        """Say which rows are seen."""
        if not self.is_current:
            return
        sheet = self._sheet
        first, count = int(sheet.scroll_y), len(self._rows)
        last = min(count, first + sheet.scrollable_content_region.height)
        whole_page = not first and last == count
        place = "" if whole_page else f"rows {first + 1} to {last} of {count}   "
        sheet.border_subtitle = f"{place}{self._hint}"

    @property
    def _hint(self) -> str:
        """The places that were found, and the keys that lead to them; else where letters go."""
        if not self._wanted:
            return "q closes; other letters go to the prompt" if self.has_prompt else ""
        found = rows_with((row.plain for row in self._rows), self._wanted)
        if not found:
            return "none found   Esc"
        here = found.index(self._at) + 1 if self._at in found else 1
        keys = "Enter keeps the marks" if self.is_typing else "n next  N previous"
        return f"{here} of {len(found)}   {keys}  Esc"

    # ---- find -----------------------------------------------------------------------------------

    def action_find(self) -> None:
        """Type what is sought."""
        sought = self.query_one("#sought", Input)
        sought.display = True
        sought.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Mark it while it is typed."""
        self._wanted, self._at = event.value, -1
        self.action_find_next(1)

    def on_input_submitted(self) -> None:
        """Enter: the marks stay, and `n` and `N` go on from here; without any one types on."""
        if self._at >= 0:
            self.query_one("#sought", Input).display = False
            self.set_focus(None)
        self.place()

    def action_find_next(self, step: int) -> None:
        """Go to the next row that has it, around the end."""
        found = rows_with((row.plain for row in self._rows), self._wanted)
        if (at := following(found, self._at, step)) is not None:
            self._at = at
            self._sheet.scroll_to(y=max(0, self._at - 3), animate=False)
        self._show()

    def _end_find(self) -> None:
        """Take the marks away, and close the line."""
        sought = self.query_one("#sought", Input)
        sought.value, sought.display = "", False
        self._wanted = ""
        self.set_focus(None)
        self._show()

    # ---- keys -----------------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        """Keys of a search; else as all such screens."""
        after_typing = {"n": 1, "N": -1} if self._wanted else {}
        ways = {"up": -1, "down": 1} if self.is_typing else after_typing
        if event.key in ways:
            self.action_find_next(ways[event.key])
        elif event.key == "escape" and (self.is_typing or self._wanted):
            self._end_find()
        else:
            super().on_key(event)
            return
        event.stop()
        event.prevent_default()

    def action_scroll(self, way: str) -> None:
        """Scroll the text."""
        getattr(self._sheet, f"scroll_{way}")(animate=False)

    def action_copy(self) -> None:
        """Copy the whole text."""
        self.app.copy_to_clipboard(self.text)

    def action_carry_out(self, line: str, opens: bool) -> None:
        """Leave the page for a command."""
        self.dismiss()
        self.app.call_later(self.app.action_open if opens else self.app.say, line)

    def on_click(self, event: events.Click) -> None:
        """A click beside the sheet leaves the page."""
        if event.widget is self:
            self.dismiss()
