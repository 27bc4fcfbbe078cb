"""An article: a title, sections of a heading and lines, and where to read on; all plain text."""

import textwrap
from collections.abc import Iterable
from dataclasses import field

from rdmalab.spec.row import dataclass

_NARROWEST = 40
_WIDEST_HEADING = 24
_GAP = 2


@dataclass(slots=True)
class ArticleSection:
    """A heading, empty for text that needs none, and lines of any length.

    is_apart: printed after a blank row, the heading at the margin on a row of its own. is_code: the
    lines are to be typed.
    """

    heading: str
    lines: list[str]
    is_apart: bool = False
    is_code: bool = False


@dataclass(slots=True)
class Article:
    """Sections of the article about one word. kind: what sort of thing the title is."""

    title: str
    kind: str
    sections: list[ArticleSection]
    see_also: list[str] = field(default_factory=list)

    def lines(self, width: int = 80) -> list[str]:
        """Wrapped to `width` columns: headings on the left, what they say beside them."""
        title, sections = self.laid(width)
        return [*title, *(row for _, rows in sections for row in rows)]

    def laid(self, width: int = 80) -> tuple[list[str], list[tuple[ArticleSection, list[str]]]]:
        """The rows of the title, and those of each section."""
        width = max(width, _NARROWEST)
        shown = [
            *self.sections,
            ArticleSection("see", [" · ".join(self.see_also)] * bool(self.see_also)),
        ]
        beside = [len(s.heading) for s in shown if _is_short(s.heading) and not s.is_apart]
        indent = _GAP + max(beside, default=0)
        title = f"{self.title}  ({self.kind})" if self.kind else self.title
        rows = [(section, _section_lines(section, indent + _GAP, width)) for section in shown]
        return _wrapped(title, "", "  ", width), rows

    @property
    def text(self) -> str:
        """All words of the article in one line, for a search."""
        parts = [self.title, self.kind, *self.see_also]
        parts += [word for s in self.sections for word in (s.heading, *s.lines)]
        return " ".join(parts)


Row = tuple[str, str | Iterable[str]]


def article(title: str, kind: str, rows: Iterable[Row], see_also: Iterable[str] = ()) -> Article:
    """An article of these rows; a row without text is left out."""
    sections = []
    for heading, text in rows:
        lines = [line for line in ([text] if isinstance(text, str) else text) if line]
        if lines:
            sections.append(ArticleSection(heading, lines))
    return Article(title, kind, sections, list(see_also))


def _is_short(heading: str) -> bool:
    return len(heading) <= _WIDEST_HEADING


def _section_lines(section: ArticleSection, indent: int, width: int) -> list[str]:
    if section.is_apart:
        head = [section.heading] if section.heading else []
        apart = [_wrapped(line, "  ", "  ", width) or [""] for line in section.lines]
        return ["", *head, *(row for rows in apart for row in rows)]
    if not section.heading:
        return [row for line in section.lines for row in _wrapped(line, "  ", "  ", width)]
    first = "  " + section.heading.ljust(indent - 2)
    rows: list[str] = []
    if not _is_short(section.heading):
        rows, first = [first.rstrip()], " " * indent
    for line in section.lines:
        rows += _wrapped(line, first, " " * indent, width)
        first = " " * indent
    return rows


def _wrapped(text: str, first: str, further: str, width: int) -> list[str]:
    inset = len(text) - len(text.lstrip(" "))  # what is set in goes on deeper
    further += " " * (inset + _GAP if inset else 0)
    return textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=further, break_on_hyphens=False
    )
