"""The manual: pages in Markdown, which ship with the program, as blocks that each face draws.

`pages/NAME.md` has a title, an introduction, and parts under headings of level 2. A comment below
a heading, `<!-- words: zoom, enlarge -->`, names further words under which `help` finds the part.
markdown-it is imported when a page is first needed, because that takes 40 ms.
"""

import enum
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from rdmalab.guide.article import Article, ArticleSection
from rdmalab.guide.entry import normal
from rdmalab.spec.row import dataclass

if TYPE_CHECKING:
    from markdown_it.token import Token


PAGES = (
    "screen", "keys", "prompt", "time", "why", "programs", "faults", "scenarios", "sweeps",
    "teaching", "courses", "python", "pyverbs", "c_programs", "files", "web", "environment",
    "plain",
)  # fmt: skip
"""The names of all pages, in the order of the manual."""

_WORDS = "<!-- words:"
_BETWEEN = "  "  # columns of a table that is printed


class Shape(enum.Enum):
    """Kind of a block, which decides how a face draws it."""

    TEXT = enum.auto()
    CODE = enum.auto()
    ITEM = enum.auto()
    HEAD = enum.auto()  # the first row of a table
    ROW = enum.auto()


class Piece(NamedTuple):
    """Some words of a paragraph. is_code: in backquotes; is_strong: between asterisks."""

    text: str
    is_code: bool = False
    is_strong: bool = False
    href: str = ""


class Block(NamedTuple):
    """A paragraph, an item of a list, lines of code, or a row of a table, which has several cells.

    language: of code, what stands after the fence, such as `lab` or `sh`.
    """

    shape: Shape
    cells: Sequence[Sequence[Piece]]
    language: str = ""

    @property
    def texts(self) -> list[str]:
        """The text of each cell, with code in backquotes, but not in the first cell of a row."""
        bare = self.shape in (Shape.CODE, Shape.HEAD, Shape.ROW)
        return [_text(cell, bare=bare and not number) for number, cell in enumerate(self.cells)]


def _text(pieces: Sequence[Piece], *, bare: bool) -> str:
    return "".join(f"`{p.text}`" if p.is_code and not bare else p.text for p in pieces)


@dataclass(slots=True)
class ManualPart:
    """A heading, the words under which it is found, and what stands below it."""

    heading: str
    words: list[str] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)


@dataclass(slots=True)
class ManualPage:
    """A page. The first part is the introduction; its heading is the title of the page."""

    name: str
    parts: list[ManualPart]

    @property
    def title(self) -> str:
        return self.parts[0].heading


def source(name: str) -> str:
    """The Markdown text of a page."""
    return (pkgutil.get_data(__package__, f"pages/{name}.md") or b"").decode("utf-8")


@cache
def titles() -> dict[str, str]:
    """Name → title of each page, read from its first line."""
    return {name: source(name).partition("\n")[0].removeprefix("# ") for name in PAGES}


@cache
def page(name: str) -> ManualPage:
    """A page of the manual by its name in PAGES."""
    return ManualPage(name, parts_of(source(name)))


class ManualPlace(NamedTuple):
    """A part of the manual. number: in its page; 0: the whole page."""

    page: str
    number: int = 0


@cache
def _index() -> dict[str, list[ManualPlace]]:
    """Word → the parts that have it; a part with that heading goes before parts with that word."""
    parts = [
        (ManualPlace(name, number), part)
        for name in PAGES
        for number, part in enumerate(page(name).parts[1:], 1)
    ]
    found: dict[str, list[ManualPlace]] = {}
    for place, part in parts:
        found.setdefault(normal(part.heading), []).append(place)
    for place, part in parts:
        for word in part.words:
            places = found.setdefault(normal(word), [])
            places += [place] * (place not in places)
    return found


def find(word: str) -> list[ManualPlace]:
    """Places of the manual that answer a word, the best one first; empty: none."""
    if word.casefold() in PAGES:
        return [ManualPlace(word.casefold())]
    index, name = _index(), normal(word)
    return index.get(name) or index.get(name.removesuffix("s")) or []


def parts_of(text: str) -> list[ManualPart]:
    """The parts of a Markdown text."""
    from markdown_it import MarkdownIt

    return _Reader(MarkdownIt("commonmark").enable("table").parse(text)).parts


def words() -> list[str]:
    """All words that `find` knows."""
    return [*PAGES, *_index()]


def article(places: Sequence[ManualPlace]) -> Article:
    """These places of the manual, to be printed."""
    parts = [part for place in places for part in _parts(place)]
    sections = [section for part in parts for section in _sections(part)]
    sections[0].heading, sections[0].is_apart = "", False  # the title has it
    names = list(dict.fromkeys(place.page for place in places))
    is_whole = not places[0].number
    kind = "manual" if is_whole else f"manual: {' '.join(names)}"
    see = [] if is_whole else [f"help {name}" for name in names]
    return Article(parts[0].heading, kind, sections, see)


def _parts(place: ManualPlace) -> list[ManualPart]:
    parts = page(place.page).parts
    return [parts[place.number]] if place.number else parts


def _sections(part: ManualPart) -> Iterator[ArticleSection]:
    """The blocks of a part as sections of an article; rows of a table as headings with lines."""
    heading, before = part.heading, None
    for block in part.blocks:
        is_apart = block.shape is not before or block.shape is Shape.TEXT
        if block.shape is Shape.HEAD:
            yield ArticleSection(heading, [], is_apart=True)
        elif block.shape is Shape.ROW:
            first, *others = block.texts
            yield ArticleSection(first, [_BETWEEN.join(filter(None, others))])
        else:
            is_code = block.shape is Shape.CODE
            yield ArticleSection(heading, list(_lines(block)), is_apart, is_code)
        heading, before = "", block.shape


def _lines(block: Block) -> Iterator[str]:
    (text,) = block.texts
    if block.shape is Shape.CODE:
        yield from (f"  {line}" for line in text.splitlines())
    else:
        yield f"  - {text}" if block.shape is Shape.ITEM else text


# --------------------------------------------------------------------------- reading
class _Reader:
    """Puts the tokens of markdown-it into parts and blocks."""

    def __init__(self, tokens: Sequence["Token"]) -> None:
        self.parts: list[ManualPart] = []
        self._items = 0  # lists that are open
        self._row: list[Sequence[Piece]] | None = None
        self._shape_of_row = Shape.ROW
        self._is_heading = False
        for token in tokens:
            if (take := self._TAKERS.get(token.type)) is not None:
                take(self, token)

    def _heading(self, token: "Token") -> None:
        self._is_heading = token.nesting == 1

    def _list(self, token: "Token") -> None:
        self._items += token.nesting

    def _row_of_table(self, token: "Token") -> None:
        if token.nesting == 1:
            self._row = []
        elif self._row is not None:
            self._add(Block(self._shape_of_row, self._row))
            self._row = None

    def _head_of_table(self, token: "Token") -> None:
        self._shape_of_row = Shape.HEAD if token.nesting == 1 else Shape.ROW

    def _inline(self, token: "Token") -> None:
        pieces = list(_pieces(token.children or []))
        if self._is_heading:
            self.parts.append(ManualPart(_text(pieces, bare=True)))
        elif self._row is not None:
            self._row.append(pieces)
        else:
            self._add(Block(Shape.ITEM if self._items else Shape.TEXT, [pieces]))

    def _code(self, token: "Token") -> None:
        self._add(Block(Shape.CODE, [[Piece(token.content, is_code=True)]], token.info.strip()))

    def _comment(self, token: "Token") -> None:
        text = token.content.strip()
        if text.startswith(_WORDS):
            listed = text.removeprefix(_WORDS).removesuffix("-->").split(",")
            self.parts[-1].words += [word.strip() for word in listed]

    def _add(self, block: Block) -> None:
        self.parts[-1].blocks.append(block)

    _TAKERS: dict[str, Callable[["_Reader", "Token"], None]] = {  # noqa: RUF012  (a table)
        "heading_open": _heading,
        "heading_close": _heading,
        "bullet_list_open": _list,
        "bullet_list_close": _list,
        "thead_open": _head_of_table,
        "thead_close": _head_of_table,
        "tr_open": _row_of_table,
        "tr_close": _row_of_table,
        "inline": _inline,
        "fence": _code,
        "code_block": _code,
        "html_block": _comment,
    }


def _pieces(tokens: Sequence["Token"]) -> Iterator[Piece]:
    is_strong, href = False, ""
    for token in tokens:
        if token.type in ("strong_open", "strong_close"):
            is_strong = token.nesting == 1
        elif token.type in ("link_open", "link_close"):
            href = str(token.attrGet("href") or "")
        elif token.type == "softbreak":
            yield Piece(" ", is_strong=is_strong, href=href)
        elif token.content:
            yield Piece(token.content, token.type == "code_inline", is_strong, href)


_ASKING = frozenset((
    "what", "whats", "what's", "which", "how", "who", "where", "is", "are", "was", "a", "an", "the",
    "does", "do", "did", "can", "i", "my", "we", "you", "to", "of", "about", "mean", "means",
    "meaning", "please", "me", "define",
))  # fmt: skip


class Asked(NamedTuple):
    """The words that a question is about. is_question: it had words such as `what is`."""

    words: list[str]
    is_question: bool


def asked(text: str) -> Asked:
    """The words of a text without those that only ask; one word always stays."""
    words = text.strip().rstrip("?!. ").split()
    count = len(words)
    while len(words) > 1 and words[0].casefold() in _ASKING:
        words.pop(0)
    while len(words) > 1 and words[-1].casefold() in _ASKING:
        words.pop()
    return Asked(words, len(words) < count)
