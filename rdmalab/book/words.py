"""Links to articles and lessons; commands and questions in colour, with such links.

An article has one address, `guide/terms.html#concept-psn`, wherever it is linked from.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from typing import NamedTuple

from rdmalab.book.catalogue import GUIDE, MANUAL
from rdmalab.book.html import Markup, escaped, joined, slug, tag
from rdmalab.doctor.article import SUSPICIONS
from rdmalab.grammar.highlight import Role, paint
from rdmalab.guide.book import chapters as chapters_of_guide
from rdmalab.guide.entry import Entry, normal
from rdmalab.guide.manual import PAGES
from rdmalab.vocabulary import VOCABULARY

CAUSES = "Causes that why names"
"""The last chapter of the guide."""

_VERB = "verb "
_CAUSE = "cause "


class GuideChapter(NamedTuple):
    """A chapter of the guide: its page, and its entries with their anchors."""

    title: str
    page: str
    entries: dict[str, Entry]


@cache
def guide() -> tuple[GuideChapter, ...]:
    """All articles, chapter by chapter."""
    found = [*chapters_of_guide(VOCABULARY).items(), (CAUSES, list(SUSPICIONS))]
    return tuple(
        GuideChapter(title, f"{GUIDE}/{slug(title.lower())}.html", _anchored(entries))
        for title, entries in found
    )


def _anchored(entries: list[Entry]) -> dict[str, Entry]:
    found: dict[str, Entry] = {}
    for entry in entries:
        anchor, number = slug(entry.name), 2
        while anchor in found:
            anchor, number = f"{slug(entry.name)}-{number}", number + 1
        found[anchor] = entry
    return found


@cache
def _addresses() -> Mapping[str, str]:
    """Word → address of its likeliest article; a full name is always its own."""
    found: dict[str, str] = {}
    names: dict[str, str] = {}
    for chapter in guide():
        for anchor, entry in chapter.entries.items():
            address = f"{chapter.page}#{anchor}"
            names[normal(entry.name)] = address
            for word in entry.words:
                found.setdefault(normal(word), address)
    return {**found, **names}


def address(word: str) -> str | None:
    """The address of the article on a word; None if there is none."""
    return _addresses().get(normal(word))


def verb_address(name: str) -> str | None:
    """The address of the article on a command."""
    return address(f"{_VERB}{name}") or address(name)


def manual_page(name: str) -> str:
    """The address of a page of the manual, by its name in PAGES."""
    return f"{MANUAL}/{name}.html"


def help_address(word: str) -> str | None:
    """The address of what `help` prints: a command, else a page of the manual; None: neither."""
    return verb_address(word) or (manual_page(word) if word in PAGES else None)


def cause_address(name: str) -> str | None:
    """The address of the article on a cause that `why` names."""
    return address(f"{_CAUSE}{name}")


# --------------------------------------------------------------------------- prose
_TOKENS = re.compile(
    r"(?P<lesson>\b[a-z]+/[a-z0-9-]+\b)"
    r"|(?P<object>\b[A-Z]\.[a-z]+[0-9]+(?:\.[a-z_]+(?:\([^()\n]*\))?|\[[^\]\s]*\])*)"
    r"|(?P<word>\b[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+\b|\b[A-Z][A-Z0-9]{2,}\b)"
)


class Linker:
    """Links in the texts of one page. root: from the page to the top of the book, `../../`.

    pages: of lessons, by name for `load`.
    """

    def __init__(self, root: str, pages: Mapping[str, str]) -> None:
        self.root = root
        self.pages = pages

    def link(self, text: str, where: str | None, class_: str | None = None) -> Markup:
        """The text as a link to an address in the book; escaped text if that is None."""
        if where is None:
            return escaped(text)
        return tag("a", text, href=f"{self.root}{where}", class_=class_)

    def lesson(self, name: str) -> Markup:
        """The name of a lesson, as a link if the book has it."""
        return self.link(name, self.pages.get(name))

    def prose(self, text: str) -> Markup:
        """A text in which known words are linked once, and names of objects stand out."""
        return self.prose_but(text, set())

    def prose_but(self, text: str, seen: set[str]) -> Markup:
        """Text as HTML without links for the words `seen`; those that are linked are added."""
        return joined(self._prose(text, seen))

    def _prose(self, text: str, seen: set[str]) -> Iterator[str]:
        at = 0
        for match in _TOKENS.finditer(text):
            yield text[at : match.start()]
            at = match.end()
            yield self._token(match, seen)
        yield text[at:]

    def _token(self, match: re.Match[str], seen: set[str]) -> str:
        word = match.group()
        if match["object"]:
            return tag("code", word)
        where = self.pages.get(word) if match["lesson"] else address(word)
        if where is None or word in seen:
            return tag("code", word) if "_" in word else word
        seen.add(word)
        return self.link(word, where, "word" if match["word"] else None)

    def paragraphs(self, text: str, wrap: Callable[[str], str] | None = None) -> Markup:
        """Paragraphs of a text, which blank lines divide."""
        parts = [part for part in re.split(r"\n\s*\n", text.strip()) if part.strip()]
        return joined(tag("p", (wrap or self.prose)(part)) for part in parts)


_CLASSES = {
    Role.VERB: "v", Role.KEY: "k", Role.ENUM: "e", Role.NUMBER: "n", Role.STRING: "s",
    Role.NAME: "o", Role.KEYWORD: "w", Role.COMMENT: "c",
}  # fmt: skip
_QUESTION = "until "  # a command that takes any question
_PROGRAM = "program A.p lines={"
_LONGEST = 4_000  # characters; painting is not made for more

Piece = tuple[str, Role]


@lru_cache(maxsize=4_096)
def _pieces(line: str, before: str = "", after: str = "") -> tuple[Piece, ...]:
    """The line in pieces of one role, read as if it stood between two other texts."""
    if len(line) > _LONGEST:
        return ((line, Role.WORD),)
    first, end = len(before), len(before) + len(line)
    strokes = paint(f"{before}{line}{after}", VOCABULARY)
    cut = ((max(place.start, first), min(place.stop, end), role) for place, role in strokes)
    return tuple(
        (line[start - first : stop - first], role) for start, stop, role in cut if start < stop
    )


def line(text: str, linker: Linker) -> Markup:
    """A line of the prompt."""
    return _marked(_pieces(text), linker)


def question(text: str, linker: Linker) -> Markup:
    """An expression."""
    return _marked(_pieces(text, _QUESTION), linker)


def program_line(text: str, linker: Linker) -> Markup:
    """A line of a program, which has words of its own."""
    return _marked(_pieces(text, _PROGRAM, "}"), linker)


def _marked(pieces: Iterable[Piece], linker: Linker) -> Markup:
    return tag("code", joined(_linked(pieces, linker)))


def _linked(pieces: Iterable[Piece], linker: Linker) -> Iterator[Markup]:
    for text, role in pieces:
        where = None
        if role is Role.VERB:
            where = verb_address(text)
        elif role is Role.ENUM:
            where = address(text)
        css = _CLASSES.get(role)
        if where is not None:
            yield linker.link(text, where, css)
        else:
            yield tag("span", text, class_=css) if css else escaped(text)
