"""The whole book: every link leads somewhere, every page is sound, the same bytes twice."""

import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urldefrag, urljoin

import pytest

from rdmalab.book.build import LIMITS, build, sheet_path
from rdmalab.book.catalogue import catalogue
from rdmalab.jobs.limits import Ending, Outcome
from rdmalab.jobs.pool import LocalPool
from rdmalab.scenario.files import lessons_folder
from tests.book.conftest import HOSTILE_ID, LESSONS, Made

VOID = {"meta", "link", "input", "br", "hr"}


class Read(HTMLParser):
    """A page as a strict reader sees it: links, anchors, elements, and that all of them close."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: Counter[str] = Counter()
        self.elements: Counter[str] = Counter()
        self.loads: list[str] = []
        self.handlers: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements[tag] += 1
        given = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        self.handlers += [name for name in given if name.startswith("on")]
        if "id" in given:
            self.ids[given["id"] or ""] += 1
        if tag == "a" and given.get("href"):
            self.links.append(given["href"] or "")
        elif "href" in given or "src" in given:
            self.loads.append(given.get("src") or given.get("href") or "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, tag
        assert self.open.pop() == tag


def read_all(made: Made) -> dict[str, Read]:
    names = [name for name in made.book.files if name.endswith(".html")]
    return {name: Read(made.text(name)) for name in names}


NO_ICON = "data:,"  # Firefox would ask for one


def test_every_page_is_sound_and_no_link_is_dead(made: Made) -> None:
    pages = read_all(made)
    dead = []
    for name, page in pages.items():
        assert not page.open, name
        assert not page.handlers, name
        assert max(page.ids.values()) == 1, name
        assert page.elements["h1"] == page.elements["main"] == 1, name
        assert page.elements["script"] == 1, name
        assert not page.elements["img"] + page.elements["iframe"] + page.elements["style"], name
        for link in [*page.links, *(each for each in page.loads if each != NO_ICON)]:
            where, anchor = urldefrag(urljoin(name, link))
            assert ":" not in link, (name, link)
            target = pages.get(where)
            if where not in made.book.files or (anchor and target and anchor not in target.ids):
                dead.append((name, link))
    assert not dead


def test_everything_is_in_it_and_played(made: Made) -> None:
    assert {f"lessons/{name}.html" for name in LESSONS} <= made.book.files.keys()
    assert "labs/sq-full.html" in made.book.files
    assert made.book.articles > 1_300
    assert not made.book.wrong
    assert not made.book.broken
    home = made.text("index.html")
    assert all(f"{name}.html" in home for name in LESSONS)


def test_workers_make_the_same_bytes_in_any_order(made: Made) -> None:
    """The fixture was made in this process, one page after the other."""
    pool = LocalPool(LIMITS, jobs=2)
    again = build(made.catalogue, pool, ["s4711", HOSTILE_ID])
    different = [name for name in made.book.files if again.files.get(name) != made.book.files[name]]
    assert not different
    assert again.files.keys() == made.book.files.keys()


def test_a_page_that_was_cut_or_broke_says_so_and_the_book_goes_on() -> None:
    class Ill:
        def results(self, _work: object, _items: object) -> list[Outcome[object]]:
            return [
                Outcome(1, Ending.BROKEN, reason="Traceback: <b>"),
                Outcome(0, Ending.CUT, reason="more than 60 s of CPU time"),
            ]

    listed = catalogue(["a/x.rdmalab.yaml", "a/y.rdmalab.yaml"])
    book = build(listed, Ill())  # type: ignore[arg-type]
    assert "more than 60 s of CPU time" in book.files["lessons/a/x.html"].decode()
    assert "Traceback" not in book.files["lessons/a/y.html"].decode()
    assert book.broken == ["a/y.rdmalab.yaml: Traceback: <b>"]
    assert len(book.wrong) == 2


@pytest.mark.parametrize("student", ["../x", "a/b", "", "x" * 300, "CON:", "..", "ä", HOSTILE_ID])
def test_no_id_of_a_student_leaves_the_folder_of_sheets(student: str) -> None:
    path = sheet_path(student)
    assert re.fullmatch(r"sheets/[A-Za-z0-9_][A-Za-z0-9_.-]{0,90}\.html", path)
    assert path != sheet_path(student + "-")
    assert sheet_path("s4711") == "sheets/s4711.html"


def test_the_lessons_of_the_wheel_have_names_of_their_own() -> None:
    listed = catalogue(str(path) for path in lessons_folder().rglob("*.rdmalab.yaml"))
    assert len({each.page for each in listed.chapters}) == len(listed.chapters)
    assert Path(listed.chapters[0].path).exists()
