"""Build the book: pages in worker processes, then the lists, the guide and the search index.

The same files give the same bytes: pages are put together in the order of the catalogue, not in
that in which workers finish.
"""

import pkgutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256

from rdmalab.book import guide_pages, indexes, lab_page, lesson_page, manual_pages
from rdmalab.book.catalogue import Catalogue, Chapter
from rdmalab.book.html import slug
from rdmalab.book.lesson_page import Rendered
from rdmalab.book.page import INDEX, SCRIPT, SHEETS, STYLE, Page, written
from rdmalab.book.style import sheet_of_style
from rdmalab.book.words import Linker
from rdmalab.jobs.limits import Limits
from rdmalab.jobs.outcome import Ending, Outcome, Pool
from rdmalab.scenario.coverage import Bound, table

LIMITS = Limits(cpu_s=60, wall_s=180)
"""Of one page."""

_MOST_OF_ID = 60


@dataclass(frozen=True, slots=True)
class _Item:
    """One page to be made. student: of a sheet, with its path; None: the page of the chapter."""

    catalogue: Catalogue
    chapter: Chapter | None
    student: str | None = None
    path: str = ""


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
        return lab_page.sheet(item.student, item.catalogue.labs, item.catalogue, item.path)
    assert item.chapter is not None
    make = lab_page.rendered if item.chapter.is_lab else lesson_page.rendered
    return make(item.chapter, item.catalogue)


def build(catalogue: Catalogue, pool: Pool, students: Sequence[str] = ()) -> Book:
    """The book of these lessons and labs. students: each gets a sheet of exercises."""
    items = [_Item(catalogue, chapter) for chapter in catalogue.chapters]
    items += [_Item(catalogue, None, each, sheet_path(each)) for each in students]
    book = Book(lessons=len(catalogue.chapters))
    outcomes = sorted(pool.results(_made, items), key=lambda outcome: outcome.number)
    rendered = [_required(items[o.number], o, book) for o in outcomes]
    book.wrong = [each.wrong for each in rendered if each.wrong]
    lists = list(_lists(catalogue, rendered))
    pages = [*(each.page for each in rendered), *lists]
    book.articles = sum(len(page.found) for page in lists if page.css == "guide")
    write = partial(written, has_labs=bool(catalogue.labs))
    book.files = {page.path: write(page).encode() for page in pages}
    found = [found for page in pages for found in page.found]
    book.files[INDEX] = indexes.search_index(found).encode()
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
    yield indexes.home(catalogue, titles)
    linker = Linker("", catalogue.pages())
    bound: list[Bound] = [row for each in rendered for row in each.bound]
    of_path = {chapter.path: chapter.page for chapter in catalogue.chapters}
    yield indexes.statements(table(bound, "not run"), of_path, linker)
    yield from guide_pages.pages(catalogue.pages())
    yield from manual_pages.pages(catalogue.pages())


def sheet_path(student: str) -> str:
    """The file of a sheet: the id, if it can be a name of a file, else a digest of it."""
    name = slug(student)
    if name != student or len(name) > _MOST_OF_ID:
        digest = sha256(student.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        name = f"{name[:_MOST_OF_ID]}-{digest}"
    return f"{SHEETS}/{name}.html"
