"""The manual in the book: a page a page, with links from words to their articles."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from rdmalab.book import code
from rdmalab.book.guide_pages import MOST_FOUND, see
from rdmalab.book.html import Markup, escaped, joined, slug, tag
from rdmalab.book.page import MANUAL_HOME, Found, Page, neighbours
from rdmalab.book.words import Linker, manual_page, verb_address
from rdmalab.guide.manual import PAGES, Block, Part, Piece, Shape, page, titles
from rdmalab.vocabulary import VOCABULARY

_PROMPT = "A> "


def pages(lessons: dict[str, str]) -> Iterator[Page]:
    """The contents and all pages of the manual. lessons: the page of each lesson by its name."""
    linker = Linker("../", lessons)
    yield _contents()
    for name in PAGES:
        yield _page(name, linker)


def _contents() -> Page:
    rows = []
    for name in PAGES:
        parts = [
            tag("li", tag("a", part.heading, href=f"{name}.html#{slug(part.heading)}"))
            for part in page(name).parts[1:]
        ]
        rows.append(tag("h2", tag("a", titles()[name], href=f"{name}.html")))
        rows.append(tag("ul", joined(parts), class_="words"))
    about = tag("p", "How to use the program. At its prompt, ", tag("code", "help TOPIC"),
                " prints the same pages.", class_="about")  # fmt: skip
    return Page(MANUAL_HOME, "Manual", joined([tag("h1", "Manual"), about, *rows]), css="guide")


def _page(name: str, linker: Linker) -> Page:
    first, *others = page(name).parts
    seen: set[str] = set()
    up = tag("p", tag("a", "Manual", href="index.html"), class_="trail")
    body = [_part(part, linker, seen) for part in others]
    at = PAGES.index(name)
    before, after = ([PAGES[at - 1]] if at else []), [*PAGES[at + 1 : at + 2]]
    nav = neighbours(*(next(map(_neighbour, each), None) for each in (before, after)))
    head = [up, tag("h1", first.heading), *_blocks(first.blocks, linker, seen)]
    found = [_found(name, part) for part in (first, *others)]
    return Page(manual_page(name), first.heading, joined([*head, *body, nav]), found, "manual")


def _neighbour(name: str) -> tuple[str, str]:
    return f"{name}.html", titles()[name]


def _found(name: str, part: Part) -> Found:
    text = " ".join([part.heading, *part.words, *(t for b in part.blocks for t in b.texts)])
    is_first = part is page(name).parts[0]
    address = manual_page(name) + ("" if is_first else f"#{slug(part.heading)}")
    return Found(address, part.heading, "manual", text[:MOST_FOUND])


def _part(part: Part, linker: Linker, seen: set[str]) -> Markup:
    anchor = slug(part.heading)
    link = tag("a", "#", href=f"#{anchor}", class_="anchor", aria_label=f"Link to {part.heading}")
    return tag("section", tag("h2", part.heading, link), *_blocks(part.blocks, linker, seen),
               id=anchor)  # fmt: skip


def _blocks(blocks: Iterable[Block], linker: Linker, seen: set[str]) -> Iterator[Markup]:
    """The blocks; items and rows that follow each other make one list, one table."""
    for kind, group in groupby(blocks, key=lambda block: _TOGETHER.get(block.shape, block.shape)):
        members = list(group)
        if kind is Shape.ITEM:
            items = (tag("li", _words(block.cells[0], linker, seen)) for block in members)
            yield tag("ul", joined(items))
        elif kind is Shape.ROW:
            yield _table(members, linker, seen)
        elif kind is Shape.CODE:
            yield from (_code(block, linker) for block in members)
        else:
            yield from (tag("p", _words(block.cells[0], linker, seen)) for block in members)


_TOGETHER = {Shape.HEAD: Shape.ROW}


def _table(rows: Iterable[Block], linker: Linker, seen: set[str]) -> Markup:
    found = []
    for row in rows:
        kind = "th" if row.shape is Shape.HEAD else "td"
        found.append(tag("tr", *(tag(kind, _words(cell, linker, seen)) for cell in row.cells)))
    return tag("div", tag("table", joined(found)), class_="table")


def _words(pieces: Iterable[Piece], linker: Linker, seen: set[str]) -> Markup:
    return joined(_piece(piece, linker, seen) for piece in pieces)


def _piece(piece: Piece, linker: Linker, seen: set[str]) -> Markup:
    if piece.is_code:
        verb = verb_address(piece.text) if piece.text in VOCABULARY else None
        return tag("code", linker.link(piece.text, verb)) if verb else see(piece.text, linker)
    text = linker.prose_but(piece.text, seen)
    return tag("strong", text) if piece.is_strong else text


def _code(block: Block, linker: Linker) -> Markup:
    (text,) = block.texts
    language = block.language.partition(" ")[0]
    if language == "lab":
        return tag("pre", code.line(text.rstrip("\n"), linker))
    if language == "console":
        return tag("pre", joined((_printed(row, linker) for row in text.splitlines()), "\n"))
    return tag("pre", tag("code", text))


def _printed(row: str, linker: Linker) -> Markup:
    if not row.startswith(_PROMPT):
        return escaped(row)
    return joined([_PROMPT, code.line(row.removeprefix(_PROMPT), linker)])
