"""Commands and questions in colour, with links from verbs and words to their articles."""

from collections.abc import Iterable, Iterator
from functools import lru_cache

from rdmalab.book import words
from rdmalab.book.html import Markup, escaped, joined, tag
from rdmalab.book.words import Linker
from rdmalab.grammar.highlight import Role, paint
from rdmalab.vocabulary import VOCABULARY

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
            where = words.verb_address(text)
        elif role is Role.ENUM:
            where = words.address(text)
        css = _CLASSES.get(role)
        if where is not None:
            yield linker.link(text, where, css)
        else:
            yield tag("span", text, class_=css) if css else escaped(text)
