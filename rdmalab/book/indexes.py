"""The pages that list: lessons by folder, labs, and the statements of the documents."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from rdmalab.book.catalogue import Catalogue, Chapter
from rdmalab.book.html import Markup, joined, tag
from rdmalab.book.page import HOME, STATEMENTS, Found, Page
from rdmalab.book.words import Linker
from rdmalab.scenario.coverage import CoverageModel, StatementModel
from rdmalab.views.fmt import count

_MOST_OF_SUMMARY = 180


def home(catalogue: Catalogue, titles: Mapping[str, tuple[str, str]]) -> Page:
    """The first page. titles: by page the title and the summary of a lesson or lab."""
    folders = catalogue.folders()
    lessons = sum(map(len, folders.values()))
    links = [
        tag("li", tag("a", name, href=f"#folder-{name}"), tag("small", f" {len(members)}"))
        for name, members in folders.items()
    ]
    parts = [
        tag("h1", "Lessons"),
        tag("p", f"{count(lessons, 'lesson')} about RDMA verbs, each played when these pages were "
            "made: what was typed, what was on the wire, what must be true. ", class_="about"),
        *_begin(catalogue, titles),
        *(_folder(f"path-{path.name}", f"{path.name}: {path.title}", path.chapters, titles)
          for path in catalogue.paths),
        tag("nav", tag("ul", joined(links)), class_="folders", aria_label="Folders"),
        _labs(catalogue.labs, titles),
    ]  # fmt: skip
    for name, members in folders.items():
        parts.append(_folder(f"folder-{name}", name, members, titles))
    return Page(HOME, "Lessons", joined(parts), css="home")


def _begin(catalogue: Catalogue, titles: Mapping[str, tuple[str, str]]) -> Iterator[Markup]:
    """Where to begin, and how a page is tried; nothing in a book without paths."""
    if catalogue.first:
        how = tag("p", "To try what a page shows: ", tag("code", "rdmalab"), ", then ",
                  tag("code", "tour"), " or ", tag("code", f"load {catalogue.first[-1].name}"), ".",
                  class_="about")  # fmt: skip
        yield _folder("begin", "Begin here", catalogue.first, titles)
        yield how


def _labs(labs: list[Chapter], titles: Mapping[str, tuple[str, str]]) -> Markup:
    return _folder("labs", "Labs", labs, titles) if labs else Markup()


def _folder(
    anchor: str, name: str, members: Sequence[Chapter], titles: Mapping[str, tuple[str, str]]
) -> Markup:
    rows = []
    for chapter in members:
        title, summary = titles[chapter.page]
        text = tag("p", _shortened(summary)) if summary else ""
        level = f"level {chapter.level}, " if chapter.level else ""
        facts = tag("small", f" {level}{chapter.minutes} min")
        rows.append(tag("li", tag("a", title, href=chapter.page), facts, text))
    return tag("section", tag("h2", name), tag("ul", joined(rows), class_="lessons"), id=anchor)


def _shortened(text: str) -> str:
    """The first sentences, as far as there is room."""
    text = " ".join(text.split())
    if len(text) <= _MOST_OF_SUMMARY:
        return text
    cut = text[:_MOST_OF_SUMMARY]
    return f"{cut.rpartition(' ')[0].rstrip(',;:.')} …"


# --------------------------------------------------------------------------- statements
def statements(table: CoverageModel, pages: Mapping[str, str], linker: Linker) -> Page:
    """Each statement with the lessons that show it. pages: path of a file → its page."""
    shown = sum(bool(row.items) for row in table.statements)
    parts = [
        tag("h1", "Statements of the documents"),
        tag("p", f"{shown} of {len(table.statements)} statements are shown by a lesson here. "
            "Tests show more of them: ", tag("code", "rdmalab lessons --coverage"), ".",
            class_="about"),
    ]  # fmt: skip
    for name, rows in groupby(table.statements, key=lambda row: row.page):
        body = joined(_statement(row, pages, linker) for row in rows)
        head = tag("tr", joined(tag("th", each, scope="col") for each in _HEAD))
        parts += [tag("h2", name), tag("div", tag("table", tag("thead", head), tag("tbody", body)),
                                       class_="table statements")]  # fmt: skip
    found = [Found(f"{STATEMENTS}#{row.id}", row.id, row.page, f"{row.id} {row.sentence}")
             for row in table.statements]  # fmt: skip
    return Page(STATEMENTS, "Statements", joined(parts), found, "statements")


_HEAD = ("id", "statement", "shown by")


def _statement(row: StatementModel, pages: Mapping[str, str], linker: Linker) -> Markup:
    names: dict[str, str] = {}
    for item in row.items:
        path, _, line = item.item.rpartition(":")
        path = path if line.isdecimal() else item.item
        failed = "" if item.passed else " (fails)"
        if path in pages:
            names.setdefault(pages[path], failed)
    links = [tag("li", linker.link(_name(page), page), failed) for page, failed in names.items()]
    shown = tag("ul", joined(links)) if links else tag("small", row.not_applicable or "")
    sentence = linker.prose(row.sentence)
    return tag("tr", tag("th", row.id, scope="row"), tag("td", sentence), tag("td", shown),
               id=row.id)  # fmt: skip


def _name(page: str) -> str:
    """`err/rnr-retry-exceeded` of its page."""
    return page.partition("/")[2].removesuffix(".html")


def search_index(found: Iterable[Found]) -> str:
    """A script with all entries of the search; a script, because file:// allows no request."""
    rows = [[each.address, each.title, each.kind, " ".join(each.text.split())] for each in found]
    text = json.dumps(rows, ensure_ascii=True, separators=(",", ":"))
    text = text.replace("</", "<\\/").replace("],[", "],\n[")
    return f"window.rdmalabIndex={text};\n"
