"""A scenario file as text: places in it, and errors with a place."""

import unicodedata

from rdmalab.command import WrongFile
from rdmalab.spec.row import dataclass

MAX_OCTETS = 1 << 20  # of a file
_CONTEXT = 100  # what is shown of a long line
_BEFORE = 60  # of that, before the caret


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """Line and column, counted from 1, and the number of characters."""

    line: int
    column: int
    length: int = 1


class FileError(WrongFile):
    """An error in a file: place, message, and one suggestion.

    Its text is `file:line:column: message`, the line, and a caret below the fault.
    """

    def __init__(
        self,
        path: str,
        message: str,
        hint: str = "",
        place: SourcePlace | None = None,
        text: str = "",
    ) -> None:
        super().__init__(path, message, hint, place, text)
        self.path = path
        self.message = message
        self.hint = hint
        self.place = place
        self.text = text
        self.others: tuple[FileError, ...] = ()  # what else is wrong with the same file

    @property
    def all(self) -> list["FileError"]:
        """This error and the others of the file, in the order of the file."""
        return sorted((self, *self.others), key=FileError._at)

    @property
    def report(self) -> str:
        return "\n".join(map(str, self.all))

    def _at(self) -> tuple[int, int]:
        return (self.place.line, self.place.column) if self.place else (0, 0)

    def __str__(self) -> str:
        if self.place is None:
            hint = f" ({self.hint})" if self.hint else ""
            return f"{visible(self.path)}: {visible(self.message)}{visible(hint)}"
        head = f"{visible(self.path)}:{self.place.line}:{self.place.column}: "
        return head + visible(self.message) + self._excerpt(self.place)

    def _excerpt(self, place: SourcePlace) -> str:
        lines = self.text.splitlines()
        if not 0 < place.line <= len(lines):
            return f"\n  {visible(self.hint)}" if self.hint else ""
        line, at = lines[place.line - 1], place.column - 1
        first = max(0, at - _BEFORE) if len(line) > _CONTEXT else 0
        shown = visible(line[first : first + _CONTEXT])
        room = max(1, len(shown) - (at - first))
        margin = f"  {place.line} | "
        indent = " " * (len(margin) + _width(shown[: at - first]))
        caret = "^" * min(max(1, place.length), room)
        return f"\n{margin}{shown}\n{indent}{caret}  {visible(self.hint)}".rstrip()


@dataclass(frozen=True, slots=True)
class Source:
    """The text of a file and its path for messages."""

    path: str
    text: str

    def error(self, message: str, hint: str = "", place: SourcePlace | None = None) -> FileError:
        """A FileError at a place; None is line 1, column 1. hint: one suggestion."""
        return FileError(self.path, message, hint, place or SourcePlace(1, 1), self.text)


def together(wrong: list[FileError]) -> FileError:
    """The first error with all others of the file, without duplicates."""
    first, *others = {(str(error)): error for error in wrong}.values()
    first.others = tuple(others)
    return first


def visible(text: str) -> str:
    """The text with control characters replaced."""
    return "".join(c if c.isprintable() else " " if c == "\t" else "�" for c in text)


def _width(text: str) -> int:
    """The width in terminal cells."""
    wide = sum(unicodedata.east_asian_width(c) in ("W", "F") for c in text)
    return len(text) + wide - sum(bool(unicodedata.combining(c)) for c in text)
