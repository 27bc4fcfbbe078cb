"""The guide: a page a chapter, an article a word, with the addresses that all links use."""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby

from rdmalab.book import words
from rdmalab.book.catalogue import GUIDE
from rdmalab.book.html import Markup, escaped, joined, slug, tag, trusted
from rdmalab.book.page import GUIDE_HOME, MANUAL_HOME, Found, Page, neighbours
from rdmalab.book.words import GuideChapter, Linker, manual_page, verb_address
from rdmalab.guide.article import Article, ArticleSection
from rdmalab.guide.entry import Entry
from rdmalab.guide.explain import written
from rdmalab.guide.machine import state_machine
from rdmalab.guide.manual import PAGES, Block, ManualPart, Piece, Shape, page, titles
from rdmalab.spec.states import QPType
from rdmalab.vocabulary import VOCABULARY

_PROMPT = "A> "


def manual_pages(lessons: dict[str, str]) -> Iterator[Page]:
    """The contents and all pages of the manual. lessons: the page of each lesson by its name."""
    linker = Linker("../", lessons)
    yield _manual_contents()
    for name in PAGES:
        yield _manual_page(name, linker)


def _manual_contents() -> Page:
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


def _manual_page(name: str, linker: Linker) -> Page:
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


def _found(name: str, part: ManualPart) -> Found:
    text = " ".join([part.heading, *part.words, *(t for b in part.blocks for t in b.texts)])
    is_first = part is page(name).parts[0]
    address = manual_page(name) + ("" if is_first else f"#{slug(part.heading)}")
    return Found(address, part.heading, "manual", text[:MOST_FOUND])


def _part(part: ManualPart, linker: Linker, seen: set[str]) -> Markup:
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
        return tag("pre", words.line(text.rstrip("\n"), linker))
    if language == "console":
        return tag("pre", joined((_printed(row, linker) for row in text.splitlines()), "\n"))
    return tag("pre", tag("code", text))


def _printed(row: str, linker: Linker) -> Markup:
    if not row.startswith(_PROMPT):
        return escaped(row)
    return joined([_PROMPT, words.line(row.removeprefix(_PROMPT), linker)])


MOST_FOUND = 300
"""Letters of an article that the search reads."""

_COMMAND = re.compile(r"^(explain|help|load|checklist|why)\s+(\S.*)$")
_DRAWN = (QPType.RC, QPType.UD)
_MOVES = "Queue pairs: the moves of modify_qp"
_LISTS = ("explain", "help", "load")


def pages(lessons: dict[str, str]) -> Iterator[Page]:
    """All pages of the guide. lessons: the page of each lesson by its name."""
    linker = Linker("../", lessons)
    yield _contents()
    for chapter in words.guide():
        yield _page(chapter, linker)


def _contents() -> Page:
    parts = [tag("h1", "Guide"), tag("p", "All articles of ", tag("code", "explain"),
             ", in the order of learning.", class_="about")]  # fmt: skip
    for chapter in words.guide():
        page = chapter.page.removeprefix(f"{GUIDE}/")
        links = [
            tag("li", tag("a", _title(entry), href=f"{page}#{anchor}"))
            for anchor, entry in chapter.entries.items()
        ]
        head = tag("h2", tag("a", chapter.title, href=page),
                   tag("small", f" {len(links)}"))  # fmt: skip
        parts += [head, tag("ul", joined(links), class_="words")]
    return Page(GUIDE_HOME, "Guide", joined(parts), css="guide")


def _title(entry: Entry) -> str:
    return entry.name.removeprefix("concept ")


def _page(chapter: GuideChapter, linker: Linker) -> Page:
    articles, found = [], []
    for anchor, entry in chapter.entries.items():
        article = written(entry)
        address = f"{chapter.page}#{anchor}"
        articles.append(_article(article, entry, anchor, linker))
        text = " ".join([entry.name, *entry.words, article.text])
        found.append(Found(address, _title(entry), entry.kind, text[:MOST_FOUND]))
    up = tag("p", tag("a", "Guide", href="index.html"), class_="trail")
    head = tag("h1", chapter.title)
    drawings = joined(map(_machine, _DRAWN)) if chapter.title == _MOVES else ""
    main = joined([up, head, drawings, *articles, _neighbours(chapter)])
    return Page(chapter.page, chapter.title, main, found, "guide")


def _neighbours(chapter: GuideChapter) -> Markup:
    row = words.guide()
    at = row.index(chapter)
    parts = []
    for rel, text, other in (
        ("prev", "← Previous", row[at - 1] if at else None),
        ("next", "Next →", row[at + 1] if at + 1 < len(row) else None),
    ):
        if other is not None:
            page = other.page.removeprefix(f"{GUIDE}/")
            inside = (tag("small", text), tag("span", other.title))
            parts.append(tag("a", *inside, href=page, rel=rel, class_=rel))
    return tag("nav", joined(parts), class_="neighbours", aria_label="Before and after")


_DRAWING = re.compile(r"<style>.*?</style>", re.DOTALL)
_TIPS = re.compile(r"(#|\")tip-")


def _machine(qp_type: QPType) -> Markup:
    """The state machine of a type. Its rules stand in the style sheet of the book."""
    svg = _DRAWING.sub("", state_machine(qp_type))
    svg = _TIPS.sub(rf"\g<1>{qp_type.name}-tip-", svg)  # two drawings on one page
    svg = svg.replace("<svg ", '<svg class="machine" ', 1)
    name = f"State machine of an {qp_type.name} queue pair"
    box = tag("div", trusted(svg), class_="drawing", tabindex="0", role="group", aria_label=name)
    twin = "The articles below have the same moves in words."
    return tag("figure", box, tag("figcaption", f"{name}. {twin}"))


def _article(article: Article, entry: Entry, anchor: str, linker: Linker) -> Markup:
    title = [article.title, " ", tag("small", article.kind)]
    link = tag("a", "#", href=f"#{anchor}", class_="anchor", aria_label=f"Link to {article.title}")
    parts = [tag("h2", *title, link)]
    rows = []
    for section in article.sections:
        if section.heading:
            rows.append(tag("dt", section.heading))
            rows.append(tag("dd", _lines(section, linker, entry)))
        else:
            rows.append(tag("dd", _lines(section, linker, entry), class_="lead"))
    if article.see_also:
        rows.append(tag("dt", "see"))
        rows.append(tag("dd", joined((see(each, linker) for each in article.see_also), " · ")))
    parts.append(tag("dl", joined(rows)))
    return tag("article", joined(parts), id=anchor)


def _lines(section: ArticleSection, linker: Linker, entry: Entry) -> Markup:
    if section.heading in ("example", "usage"):
        return joined(tag("pre", tag("code", line)) for line in section.lines)
    if section.heading == "shown by":
        return joined((see(line, linker) for line in section.lines), " · ")
    seen = {entry.name, *entry.words}
    return joined(tag("p", linker.prose_but(line, seen)) for line in section.lines)


def see(text: str, linker: Linker) -> Markup:
    """`explain psn`, `help post_send` and `load err/x` as links."""
    match = _COMMAND.match(text.strip())
    if match is None or match[1] not in _LISTS:
        return tag("code", text)
    addresses: dict[str, Callable[[str], str | None]] = {
        "explain": words.address,
        "help": words.help_address,
        "load": linker.pages.get,
    }
    where = addresses[match[1]](match[2].strip())
    return linker.link(text, where) if where else tag("code", text)
