"""What outlives a page: reload, SIGKILL of the browser, two tabs, no network; and frames."""

from __future__ import annotations

import os
import shutil
import time
from typing import TYPE_CHECKING

import pytest

from rdmalab import disk
from rdmalab.book.build import build
from rdmalab.book.catalogue import catalogue
from rdmalab.book.page import LabSite
from rdmalab.page.site import MARK
from rdmalab.scenario.files import lessons_folder
from tests.book.conftest import Inline
from tests.each import ALL
from tests.page.conftest import in_chromium, in_each_browser, needs_a_browser
from tests.page.lab_tab import SNAPSHOT, TABS, TEXT, ChromiumTab
from tests.page.serving import Site

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, needs_a_browser]
KILLS = 20 if os.environ.get(ALL) else 1
KILLED_AFTER_S = 0.3
IN_FRAME = TEXT.replace("globalThis", "document.querySelector('iframe')?.contentWindow")


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    return tmp_path / "profile"


@in_each_browser
def test_a_line_survives_the_kill_of_the_browser_and_the_lab_the_network(
    site_folder: Path, profile: Path, browser: str
) -> None:
    """Each life of the browser continues the session of the one before, and is killed.

    300 ms after Enter the line is in the log, or the next life would lack its object. The last life
    has no server.
    """
    site = Site(site_folder)
    tab = TABS[browser](profile)
    try:
        tab.visit(site.address)
        for number in range(KILLS):
            tab.type(f"alloc_pd A.pd{number + 5}")
            tab.until(f"A> alloc_pd A.pd{number + 5}")
            tab.press("Enter")
            entered = time.monotonic()
            tab.until(f"A.pd{number + 5} created")  # the line was accepted
            time.sleep(max(0, entered + KILLED_AFTER_S - time.monotonic()))
            if number == KILLS - 1:
                tab.wait("document.getElementById('offline').textContent === 'Works offline'")
                site.stop()
            tab.kill()
            tab = TABS[browser](profile)
            tab.visit(site.address, "was interrupted: continue restores it")
            tab.say("continue", "Continued: ")
            tab.say(f"show pd A.pd{number + 5}", f"A.pd{number + 5} ")
        tab.ask("location.hash = '#scenario=err/rnr-retry-exceeded'")
        tab.until("empty receive queue")
        assert tab.errors == []
    finally:
        tab.close()
        site.stop()


DRAWN = "import random; random.random()"
BROKEN = f"""
caches.keys()
  .then((names) => caches.open(names[0]))
  .then((cache) => cache.put({SNAPSHOT}, new Response(new Uint8Array(100))))
"""


def has_restored(tab: ChromiumTab, site: Site) -> bool:
    """Start the lab once more; whether it began with the memory of an earlier start."""
    tab.visit(site.address)
    tab.until_snapshot()
    return bool(tab.ask("page.marks.worker.restored"))


def test_a_later_start_has_the_memory_of_the_first(site_folder: Path, profile: Path) -> None:
    """A snapshot that cannot be read, or with which the lab has stopped, is made again."""
    with Site(site_folder) as site:
        tab = ChromiumTab(profile)
        try:
            assert not has_restored(tab, site)
            assert has_restored(tab, site)
            tab.ask("location.hash = '#scenario=err/rnr-retry-exceeded'")  # imports native modules
            tab.until("empty receive queue")
            drawn = tab.python(DRAWN)
            assert has_restored(tab, site)
            assert tab.python(DRAWN) != drawn
            tab.eventually(BROKEN)
            assert not has_restored(tab, site)
            assert has_restored(tab, site)
            with pytest.raises(AssertionError, match="ZeroDivisionError"):
                tab.python("1 / 0")
            time.sleep(1)
            assert not tab.has_snapshot()
            assert not has_restored(tab, site)
            assert tab.errors == []
        finally:
            tab.close()


def test_without_scripts_the_page_says_what_it_needs_and_loads_nothing(
    site_folder: Path, profile: Path
) -> None:
    with Site(site_folder) as site:
        tab = ChromiumTab(profile)
        try:
            tab.call("Emulation.setScriptExecutionDisabled", value=True)
            tab.open(site.address)
            height = "document.querySelector({!r}).getBoundingClientRect().height"
            assert tab.ask(height.format(".cannot")) > 0
            assert tab.ask(height.format("#over")) == tab.ask(height.format("#controls")) == 0
            assert not any(path.endswith("lab.bin") for path in site.paths)
        finally:
            tab.close()


@pytest.mark.parametrize(
    ("lacking", "named"), [("WebAssembly", "WebAssembly"), ("Worker", "workers")]
)
def test_a_page_that_cannot_run_the_lab_names_what_it_lacks(
    site_folder: Path, profile: Path, lacking: str, named: str
) -> None:
    with Site(site_folder) as site:
        tab = ChromiumTab(profile)
        try:
            source = f"delete globalThis.{lacking}"
            tab.call("Page.addScriptToEvaluateOnNewDocument", source=source)
            tab.open(site.address)
            tab.wait("document.getElementById('title').textContent === 'The lab cannot run here'")
            text = str(tab.ask("document.getElementById('text').textContent"))
            assert text.startswith(f"This browser cannot run the lab: it has no {named}.")
            assert not any(path.endswith("lab.bin") for path in site.paths)
        finally:
            tab.close()


def test_a_page_that_is_opened_as_a_file_says_how_to_serve_it(
    site_folder: Path, profile: Path
) -> None:
    tab = ChromiumTab(profile)
    try:
        tab.open((site_folder / "index.html").as_uri())
        assert "python3 -m http.server" in tab.ask("document.getElementById('text').textContent")
    finally:
        tab.close()


@in_chromium
def test_two_tabs_and_a_reload(site_folder: Path, profile: Path, browser: str) -> None:
    with Site(site_folder) as site:
        tab = TABS[browser](profile)
        try:
            tab.visit(site.address)
            tab.say("alloc_pd A.pd7", "A.pd7 created")
            first = tab.tab()
            second_text = tab.visit(site.address)
            assert "was interrupted" not in second_text
            tab.say("alloc_pd A.pd8", "A.pd8 created")
            second = tab.turn_to(first)
            tab.resize(820, 1180, touch=True)
            tab.reload()
            tab.until(lambda text: "A>" in text and "was interrupted" in text)
            assert not tab.ask("document.getElementById('keys').hidden")  # it has no keyboard
            tab.say("continue", "Continued: 1 line")
            tab.say("show pd", "A.pd7 ")
            tab.turn_to(second)
            tab.say("show pd", "A.pd8 ")
            assert "A.pd7 " not in tab.text
            assert tab.errors == []
        finally:
            tab.close()


@in_each_browser
def test_a_page_of_another_host_shows_a_lesson_in_a_frame(
    site_folder: Path, profile: Path, tmp_path: Path, browser: str
) -> None:
    folder = tmp_path / "lesson"
    folder.mkdir()
    with Site(site_folder) as site, Site(folder) as other:
        link = f"{site.address}#scenario=err/rnr-retry-exceeded"
        (folder / "index.html").write_text(
            '<link rel="icon" href="data:,">'
            f'<iframe src="{link}" width="1100" height="700" allow="clipboard-write"></iframe>'
        )
        tab = TABS[browser](profile)
        try:
            base = other.address.replace("127.0.0.1", "localhost")
            tab.open(base)
            page = tab.turn_into_frame()
            tab.until("A SEND meets an empty receive queue")
            frame = tab.turn_to(page)
            tab.click("iframe")
            tab.type("alloc_pd A.pd7")
            tab.press("Enter")
            tab.turn_to(frame)
            tab.until("A.pd7 created")
            assert tab.errors == []
            own = (site.address, f"blob:{site.address}", base, "data:", "about:")
            assert [each for each in tab.requests if not each.startswith(own)] == []
        finally:
            tab.close()


@pytest.mark.parametrize("is_elsewhere", [False, True], ids=["below the lab", "elsewhere"])
@in_chromium
def test_a_lesson_of_the_book_is_tried_in_its_page(
    site_folder: Path, profile: Path, tmp_path: Path, browser: str, *, is_elsewhere: bool
) -> None:
    """The policies of both pages admit the frame; the lab in it has loaded the lesson."""
    lesson = str(lessons_folder() / "err/rnr-retry-exceeded.rdmalab.yaml")
    folder = tmp_path / "site"
    shutil.copytree(site_folder, folder, copy_function=os.link)
    with Site(folder) as site:
        lab = LabSite(site.address if is_elsewhere else "../")
        book = build(catalogue([lesson]), Inline(), site=lab)  # type: ignore[arg-type]
        disk.write_tree(folder / "book", book.files, MARK)
        base = site.address.replace("127.0.0.1", "localhost") if is_elsewhere else site.address
        tab = TABS[browser](profile)
        try:
            tab.open(f"{base}book/lessons/err/rnr-retry-exceeded.html")
            tab.wait("document.readyState === 'complete'")  # its style moves the parts
            tab.wait("document.querySelector('details.try') !== null")
            assert tab.ask("document.querySelector('iframe') === null")  # ten megabytes
            tab.click("details.try summary")
            if is_elsewhere:
                tab.turn_into_frame()
                tab.until("A SEND meets an empty receive queue")
            else:
                tab.until(lambda _: 'load "err/rnr-retry-exceeded"' in tab.ask(IN_FRAME))
            assert tab.errors == []
        finally:
            tab.close()
