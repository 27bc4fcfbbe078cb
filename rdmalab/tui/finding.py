"""`/` in a pane: the line in which one types what is sought, the next row that has it, packets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from textual.screen import ModalScreen
from textual.widgets import Input

from rdmalab.command import NotUnderstood
from rdmalab.tui.layouts import Cover
from rdmalab.views import fmt
from rdmalab.views.ladder import PacketRow
from rdmalab.views.packet_filter import Wanted, as_question, packet_filter

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.content import Content

    from rdmalab.export.ladder_columns import LadderRow

_CAPITALS = re.compile("[A-Z_]+")
_KEYS = {"find": "n next  N previous  Esc ends", "filter": "f change  Esc all"}


class Ask(ModalScreen[str | None], Cover[str | None]):
    """Its result is the text; None after Esc."""

    AUTO_FOCUS = "Input"
    BINDINGS: ClassVar[list[BindingType]] = [("escape", "dismiss(None)", "Back")]

    def __init__(self, title: str, text: str = "") -> None:
        super().__init__()
        self._title, self._text = title, text

    def compose(self) -> ComposeResult:
        """The line."""
        asked = Input(self._text, placeholder=self._title, compact=True)
        asked.border_title = self._title
        yield asked

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter."""
        self.dismiss(event.value)


def rows_with(texts: Iterable[str], wanted: str) -> list[int]:
    """The numbers of the texts that contain another, in any case; none for an empty one."""
    return [at for at, text in enumerate(texts) if wanted and wanted.lower() in text.lower()]


def following(found: list[int], at: int, step: int) -> int | None:
    """The number after `at` (step 1) or before it (-1), around the end; None if none is found."""
    later = [each for each in found if (each - at) * step > 0]
    return (later or found)[0 if step > 0 else -1] if found else None


def with_marks(row: Content, wanted: str, *, is_here: bool) -> Content:
    """The row with each place marked where it has the text. is_here: the row that was found."""
    style = "bold $on on $busy" if is_here else "bold reverse"
    return row.highlight_regex(re.compile(re.escape(wanted), re.IGNORECASE), style=style)


class PacketSearch:
    """use: `find` marks packets, `filter` leaves out all others. text: what was typed last.

    asks: it is typed now. mistake: why the text is not understood, empty if it is.
    """

    def __init__(self) -> None:
        self.use = "find"
        self.text = ""
        self.asks = False
        self.mistake = ""
        self._wanted: Wanted | None = None

    @property
    def is_on(self) -> bool:
        """Whether there is anything to find, or to filter by."""
        return bool(self.text) and not self.mistake

    @property
    def shown(self) -> tuple[str, str]:
        """Key of the selection of rows: the use and the text of the search; empty if it is off."""
        return (self.use, self.text) if self.is_on else ("", "")

    def ask(self, use: str) -> None:
        """Begin to type; the last text is there again."""
        self.use, self.asks = use, True

    def take(self, key: str, character: str | None) -> bool:
        """Handle a key while the text is typed; False for a key that is none of it."""
        if key == "enter":
            self.asks = bool(self.mistake)  # it can be mended
        elif key == "escape":
            self.end()
        elif key in ("backspace", "ctrl+h"):
            self._set(self.text[:-1])
        elif key == "ctrl+u":
            self._set("")
        elif character is not None and character.isprintable():
            self._set(self.text + character)
        else:
            return False
        return True

    def _set(self, text: str) -> None:
        self.text, self.mistake, self._wanted = text, "", None
        try:
            self._wanted = packet_filter(text.strip())
        except NotUnderstood as wrong:
            self.mistake = f"{wrong.message}: {wrong.hint}" if wrong.hint else wrong.message

    def end(self) -> bool:
        """End find and filter; False if there was none."""
        was = self.asks or bool(self.text)
        self.asks = False
        self._set("")
        return was

    def finds(self, row: LadderRow, drawn: str = "") -> bool:
        """Whether a row is meant. drawn: its text as it is seen. Fields mean packets only."""
        if not self.is_on:
            return False
        if self._wanted is not None:
            return isinstance(row, PacketRow) and self._wanted(row)
        name = row.label if isinstance(row, PacketRow) else ""  # drawn in short where room is short
        text, whole = self.text.strip(), f"{drawn or row.text} {name}"
        if _CAPITALS.fullmatch(text):  # ACK is an opcode, ack_req a field
            return text in whole
        return text.lower() in whole.lower()

    def lets_pass(self, row: LadderRow, drawn: str = "") -> bool:
        """Whether a filter shows a row."""
        return self.use != "filter" or not self.is_on or self.finds(row, drawn)

    @property
    def question(self) -> str:
        """The condition for `break`; empty for a text that only a drawn row can have."""
        return as_question(self.text.strip()) if self.is_on else ""

    def found_text(self, found: int, read: int = 0) -> str:
        """`find: psn >= 3▏ 2 found`. read: rows that were searched; 0: all there are."""
        cursor = "▏" if self.asks else ""
        among = f" in the last {fmt.count(read, 'row')}" if read else ""
        among += ", R: earlier ones" if read and not self.asks and self.question else ""
        text = self.mistake or f"{found} found{among}"
        keys = "Enter keeps  Esc ends" if self.asks else _KEYS[self.use]
        return f"{self.use}: {self.text}{cursor}  {text}  {keys}"
