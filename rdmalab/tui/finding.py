"""`/` in a pane: the line in which one types what is sought, and the next row that has it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from textual.screen import ModalScreen
from textual.widgets import Input

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.content import Content


class Ask(ModalScreen[str | None]):
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
