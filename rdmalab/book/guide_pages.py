"""The guide: a page a chapter, an article a word, with the addresses that all links use."""

import re
from collections.abc import Callable, Iterator

from rdmalab.book import words
from rdmalab.book.catalogue import GUIDE
from rdmalab.book.html import Markup, joined, tag, trusted
from rdmalab.book.page import GUIDE_HOME, Found, Page
from rdmalab.book.words import GuideChapter, Linker
from rdmalab.guide.article import Article, Section
from rdmalab.guide.entry import Entry
from rdmalab.guide.explain import written
from rdmalab.guide.machine import state_machine
from rdmalab.spec.states import QPType

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


def _lines(section: Section, linker: Linker, entry: Entry) -> Markup:
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
