"""Build the book: pages in worker processes, then the lists, the guide and the search index.

The same files give the same bytes: pages are put together in the order of the catalogue, not in
that in which workers finish.
"""

import json
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from hashlib import sha256
from itertools import groupby

from rdmalab.book import guide_pages, lesson_page
from rdmalab.book.catalogue import Catalogue, Chapter
from rdmalab.book.html import Markup, joined, slug, tag
from rdmalab.book.lesson_page import Rendered
from rdmalab.book.page import (
    HOME,
    INDEX,
    SCRIPT,
    SHEETS,
    STATEMENTS,
    STYLE,
    Found,
    LabSite,
    Page,
    sheet_of_style,
    written,
)
from rdmalab.book.words import Linker
from rdmalab.jobs.limits import Ending, Limits, Outcome, Pool
from rdmalab.scenario.coverage import Bound, CoverageModel, StatementModel, table
from rdmalab.spec.row import dataclass
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
    """Links to begin with, and how a page is tried; nothing in a book without paths."""
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


LIMITS = Limits(cpu_s=60, wall_s=180)
"""Of one page."""

_MOST_OF_ID = 60


@dataclass(frozen=True, slots=True)
class _Item:
    """One page to be made. student: of a sheet, with its path; None: the page of the chapter.

    site: the lab that it shows in a frame, if any.
    """

    catalogue: Catalogue
    chapter: Chapter | None
    student: str | None = None
    path: str = ""
    site: LabSite | None = None


@dataclass(slots=True)
class Book:
    """All files of the book by path. wrong: what failed while lessons were played."""

    files: dict[str, bytes] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    lessons: int = 0
    articles: int = 0


def _made(item: _Item, _limits: Limits) -> Rendered:
    """One page; the work of a pool."""
    if item.student is not None:
        return lesson_page.sheet(item.student, item.catalogue.labs, item.catalogue, item.path)
    assert item.chapter is not None
    make = lesson_page.rendered_lab if item.chapter.is_lab else lesson_page.rendered
    return make(item.chapter, item.catalogue, item.site)


def build(
    catalogue: Catalogue, pool: Pool, students: Sequence[str] = (), site: LabSite | None = None,
    advance: Callable[[], None] | None = None,
) -> Book:  # fmt: skip
    """The book of these lessons and labs. students: each gets a sheet of exercises.

    site: the lab that pages show in a frame; None: they show none. advance: called for each lesson,
    lab and sheet that is made.
    """
    items = [_Item(catalogue, chapter, site=site) for chapter in catalogue.chapters]
    items += [_Item(catalogue, None, each, sheet_path(each)) for each in students]
    book = Book(lessons=len(catalogue.chapters))
    outcomes: list[Outcome[Rendered]] = []
    for outcome in pool.results(_made, items):
        outcomes.append(outcome)
        if advance is not None:
            advance()
    outcomes.sort(key=lambda outcome: outcome.number)
    rendered = [_required(items[o.number], o, book) for o in outcomes]
    book.wrong = [each.wrong for each in rendered if each.wrong]
    lists = list(_lists(catalogue, rendered))
    pages = [*(each.page for each in rendered), *lists]
    book.articles = sum(len(page.found) for page in lists if page.css == "guide")
    write = partial(written, has_labs=bool(catalogue.labs))
    book.files = {page.path: write(page).encode() for page in pages}
    found = [found for page in pages for found in page.found]
    book.files[INDEX] = search_index(found).encode()
    book.files[STYLE] = sheet_of_style().encode()
    book.files[SCRIPT] = pkgutil.get_data(__package__, SCRIPT) or b""
    return book


def _required(item: _Item, outcome: Outcome[Rendered], book: Book) -> Rendered:
    """The page of an item; one that was cut or broke has a page that says so."""
    if outcome.ending is Ending.DONE and outcome.value is not None:
        return outcome.value
    path = item.path if item.chapter is None else item.chapter.page
    name = path if item.chapter is None else item.chapter.name
    if outcome.ending is Ending.BROKEN:
        book.broken.append(f"{name}: {outcome.reason}")
    reason = outcome.reason if outcome.ending is Ending.CUT else "an error inside rdmalab"
    return lesson_page.unplayed(path, name, reason)


def _lists(catalogue: Catalogue, rendered: Sequence[Rendered]) -> Iterator[Page]:
    titles = {each.page.path: (each.page.title, each.summary) for each in rendered}
    yield home(catalogue, titles)
    linker = Linker("", catalogue.pages())
    bound: list[Bound] = [row for each in rendered for row in each.bound]
    of_path = {chapter.path: chapter.page for chapter in catalogue.chapters}
    yield statements(table(bound, "not run"), of_path, linker)
    yield from guide_pages.pages(catalogue.pages())
    yield from guide_pages.manual_pages(catalogue.pages())


def sheet_path(student: str) -> str:
    """The file of a sheet: the id, if it can be a name of a file, else a digest of it."""
    name = slug(student)
    if name != student or len(name) > _MOST_OF_ID:
        digest = sha256(student.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        name = f"{name[:_MOST_OF_ID]}-{digest}"
    return f"{SHEETS}/{name}.html"
