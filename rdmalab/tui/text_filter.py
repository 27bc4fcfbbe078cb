"""The filter of a pane: a text that is typed in its lower border."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdmalab.shell.styled_text import Line, text_of

if TYPE_CHECKING:
    from textual import events


class TextFilter:
    """`pattern`: the text, in any case; empty: everything passes. `asking`: it is typed now."""

    def __init__(self) -> None:
        self.pattern = ""
        self.asking = False

    def take(self, event: events.Key) -> bool:
        """Handle a key while the filter is typed; True if the key was used."""
        if not self.asking:
            return False
        if event.key in ("enter", "escape"):
            self.asking = False
            self.pattern = "" if event.key == "escape" else self.pattern
        elif event.key in ("backspace", "ctrl+h"):
            self.pattern = self.pattern[:-1]
        elif event.key == "ctrl+u":
            self.pattern = ""
        elif event.is_printable and event.character:
            self.pattern += event.character
        else:
            return event.key not in ("f6", "shift+f6")
        return True

    def has(self, text: str) -> bool:
        """Whether a text contains the pattern."""
        return self.pattern.lower() in text.lower()

    def lines(self, lines: list[Line]) -> list[Line]:
        """The lines that contain the pattern."""
        return [line for line in lines if self.has(text_of(line))]
