"""The lab in a page: what a person does in it, with real keys."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from tests.bench import page as bench
from tests.browser import PATIENCE_S
from tests.page.conftest import in_chromium, in_each_browser, needs_a_browser
from tests.page.serving import Site

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.page.lab_tab import LabTab

pytestmark = [pytest.mark.slow, needs_a_browser]
SEND = "post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED"


@pytest.fixture
def tab(shared_tab: LabTab, site: Site) -> Iterator[LabTab]:
    """The lab with a new world; nothing may go wrong in it, and nothing may leave the machine."""
    shared_tab.ask("page.handed.length = 0")
    shared_tab.new()
    yield shared_tab
    assert shared_tab.errors == []
    own = (site.address, f"blob:{site.address}", "data:", "about:blank")
    assert [each for each in shared_tab.requests if not each.startswith(own)] == []


@in_each_browser
def test_words_steps_a_run_that_is_stopped_and_why(tab: LabTab) -> None:
    tab.say(SEND, "SQ 1/8")
    tab.say("step packet", "SEND_ONLY psn=0")
    tab.type("run 10000s")
    tab.press("Enter")
    tab.until("running")
    before = time.monotonic()
    tab.press("c", control=True)
    tab.matches(r"after [\d,]+ events; stopped\.")
    assert time.monotonic() - before < 20
    tab.say("why A.qp0.wr[2]", "rnr-infinite")
    tab.say("rewind", "PAST")
    tab.say("goto end", "LIVE")


@in_each_browser
def test_the_completion_menu_by_tab_and_by_the_mouse(tab: LabTab) -> None:
    tab.type("modify_")
    tab.press("Tab")
    tab.until("Arm the limit of a shared")
    time.sleep(0.5)  # the menu moves while it opens
    tab.click_text("modify_srq")
    tab.until("A> modify_srq")
    tab.press("u", control=True)


@in_each_browser
def test_scenarios_a_pane_and_another_size(tab: LabTab) -> None:
    tab.say("load err/rnr-retry-exceeded", "A SEND meets an empty receive queue")
    tab.press("F8")
    tab.press("F6")
    tab.press("2")
    tab.press("Escape")
    tab.resize(700, 480)
    tab.until(lambda text: 60 < max(map(len, text.split("\n"))) < 90)
    tab.resize(1180, 760)
    tab.until(lambda text: max(map(len, text.split("\n"))) > 120)


@in_each_browser
def test_files_are_downloads_and_a_session_is_a_link(tab: LabTab, site: Site) -> None:
    tab.say("save mine", "downloaded: mine.rdmalab.yaml")
    tab.say("export pcapng run.pcapng", "downloaded: run.pcapng")
    tab.say("snapshot screen seen.svg", "downloaded: seen.svg")
    assert [name for name, _ in tab.ask("page.handed")] == [
        "mine.rdmalab.yaml", "run.pcapng", "seen.svg",
    ]  # fmt: skip
    tab.say("share", "link to this session")
    link = tab.ask("page.copied")
    assert link.startswith(f"{site.address}#rdmalab:2:")
    assert tab.ask("location.href") == link
    word = link.partition("#")[2]
    tab.say("new", "Empty world")
    tab.ask(f"location.hash = {word!r}; dispatchEvent(new HashChangeEvent('hashchange'))")
    tab.matches(r"\d+ steps; it is")


@in_each_browser
def test_a_lab_is_worked_on_submitted_and_kept(tab: LabTab) -> None:
    tab.say("load labs/by-hand student=s4711", "submit")
    tab.say("submit", "copied to the clipboard")
    assert tab.ask("page.copied").startswith("rdmalab-work:")
    tab.say("submit work", "downloaded: work.yaml")
    tab.say("new", "is kept")
    tab.say("lab", "by-hand")


@in_each_browser
def test_a_link_opens_a_lab(tab: LabTab) -> None:
    tab.say("show pd", "A.pd0  ")
    tab.ask("location.hash = '#lab=by-hand'")
    tab.until("From RESET to hello")
    tab.say("task up", "Bring a queue pair of each node to RTS")
    tab.say("new", "is kept")


# A headless Firefox has no screen to give: it refuses, or says nothing.
@pytest.mark.parametrize("browser", ["chromium"], scope="module")
def test_the_page_fills_the_screen_and_gives_it_back(tab: LabTab) -> None:
    rows = tab.ask("page.terminal.rows")
    tab.click("#full")
    tab.wait(f"document.fullscreenElement !== null && page.terminal.rows > {rows}")
    tab.say("show pd", "A.pd0")
    tab.ask("(document.exitFullscreen(), 1)")  # as Esc does
    tab.wait(f"document.fullscreenElement === null && page.terminal.rows === {rows}")


@in_chromium
def test_a_refused_full_screen_has_a_message(tab: LabTab) -> None:
    tab.ask("(Element.prototype.own = Element.prototype.requestFullscreen, 1)")
    tab.ask("(Element.prototype.requestFullscreen = () => Promise.reject(TypeError('denied')), 1)")
    tab.click("#full")
    tab.wait("document.getElementById('notice').innerText.includes('press F11')")
    tab.click("#close")
    tab.ask("(Element.prototype.requestFullscreen = Element.prototype.own, 1)")


@in_chromium
@pytest.mark.parametrize(
    "hash",
    [
        "#scenario=../../../etc/passwd", "#scenario=%22%0Aquit%0A", "#lab=x%22;quit%20%22",
        "#do=quit", "#scenario=err/rnr-retry-exceeded%22%0Aexport%20pcapng%20x", "#%E0%A4",
        "#rdmalab:2:%22%0Aquit", "#rdmalab:2:eNqVkd1K", "#scenario=<img src=x onerror=alert(1)>",
    ],
)  # fmt: skip
def test_hostile_links_end_nothing_and_start_no_download(tab: LabTab, hash: str) -> None:  # noqa: A002
    tab.ask(f"location.hash = {hash!r}")
    time.sleep(0.2)
    tab.say("show pd", "A.pd0")
    assert tab.ask("document.getElementById('over').hidden")
    assert tab.ask("page.handed.length") == 0
    assert tab.dialogs == []


@in_each_browser
def test_a_dropped_file_is_loaded(tab: LabTab) -> None:
    text = "rdmalab: 1\\ntitle: dropped here\\nsteps:\\n  - use rc_pair\\n"
    tab.ask(
        f"(() => {{ const d = new DataTransfer(); d.items.add(new File(['{text}'],"
        " '../my \\\"file.rdmalab.yaml'));"
        "window.dispatchEvent(new DragEvent('drop', {dataTransfer: d, cancelable: true})); })()"
    )
    tab.until("dropped here")


@in_each_browser
def test_the_controls_of_the_page(tab: LabTab) -> None:
    tab.eventually("document.fonts.ready.then(() => 1)")  # they change the width of a letter
    columns = tab.ask("page.terminal.cols")
    tab.click("#larger")
    tab.wait(f"page.terminal.cols < {columns}")
    tab.click("#smaller")
    tab.wait(f"Math.abs(page.terminal.cols - {columns}) <= 1")
    tab.dark(is_dark=False)
    tab.wait("document.documentElement.dataset.theme === 'light'")
    tab.dark(is_dark=True)
    tab.wait("document.documentElement.dataset.theme === 'dark'")
    tab.click("#keyboard")
    tab.wait("!document.getElementById('keys').hidden")
    tab.click("#keyboard")
    tab.wait("document.getElementById('keys').hidden")


@in_each_browser
def test_a_tablet_has_a_row_of_keys_that_a_finger_taps(tab: LabTab, site: Site) -> None:
    tab.resize(820, 1180, touch=True)
    tab.click("#keyboard")
    tab.wait("!document.getElementById('keys').hidden")
    tab.click("#terminal")
    tab.say(SEND, "SQ 1/8")
    keys = tab.ask("[...document.querySelectorAll('#keys button')].map(b => b.firstChild.data)")
    for key, wanted in (("F8", "SEND_ONLY psn=0"), ("F7", "PAST")):
        tab.tap(f"#keys button:nth-child({keys.index(key) + 1})")
        tab.until(wanted)
    tab.click("#keyboard")
    tab.resize(1180, 760)


@in_each_browser
def test_a_narrow_page_reaches_all_controls_and_a_message_covers_no_key(tab: LabTab) -> None:
    tab.resize(390, 780)
    tab.wait("document.getElementById('controls').scrollWidth > 0")
    tab.ask("document.getElementById('controls').scrollLeft = 0")
    left = "document.getElementById({!r}).getBoundingClientRect().left"
    assert tab.ask(left.format("smaller")) >= tab.ask(left.format("controls"))
    tab.click("#keyboard")
    tab.wait("!document.getElementById('keys').hidden")
    tab.ask("document.getElementById('notice').hidden = false")
    edge = "document.getElementById({!r}).getBoundingClientRect().{}"
    assert tab.ask(edge.format("notice", "bottom")) <= tab.ask(edge.format("keys", "top"))
    tab.click("#close")
    tab.click("#keyboard")
    tab.resize(1180, 760)


@in_each_browser
def test_the_transcript_is_a_live_region_and_the_terminal_no_trap(tab: LabTab) -> None:
    tab.click("#plain")
    tab.click("#terminal")
    tab.say("show qp", "A.qp0")
    log = "document.querySelector('[aria-live=polite]').innerText"
    tab.wait(f"{log}.includes('A> show qp')")
    tab.wait(f"{log}.includes('A.qp0')")
    tab.press("Tab")
    assert tab.ask("document.activeElement.className").startswith("xterm")
    tab.press("F10")
    assert tab.ask("document.activeElement.id") == "smaller"
    tab.press("Escape")
    assert tab.ask("document.activeElement.className").startswith("xterm")
    tab.click("#plain")
    tab.click("#terminal")


@in_each_browser
def test_python_in_the_page_reaches_no_other_host(tab: LabTab, site: Site) -> None:
    with Site(site.folder) as other:
        tab.python(
            f"import js; said = []; js.fetch({other.address!r}).then("
            "lambda _: said.append('answered'), lambda why: said.append(f'refused: {why}')); 1"
        )
        until = time.monotonic() + PATIENCE_S
        while not (said := tab.python("''.join(said)")):
            assert time.monotonic() < until
        assert said.startswith("refused: TypeError")
        assert other.paths == []
    assert any(other.address in each for each in tab.errors)
    tab.errors.clear()
    tab.requests[:] = [each for each in tab.requests if not each.startswith(other.address)]


@in_each_browser
def test_quit_offers_to_begin_again(tab: LabTab) -> None:
    tab.say("alloc_pd A.pd7", "A.pd7 created")
    tab.say("quit")
    tab.wait("document.getElementById('title').textContent === 'The session has ended'")
    tab.click("#begin")
    tab.until("A has sent 64 bytes")
    tab.say("continue", "Continued: ")
    tab.say("show pd", "A.pd7")


@in_each_browser
def test_an_exception_in_the_worker_is_shown_with_its_traceback(tab: LabTab) -> None:
    before = time.monotonic()
    with pytest.raises(AssertionError, match="ZeroDivisionError: division by zero"):
        tab.python("process._app.prompt.say('show pd'); 1 / 0")
    assert time.monotonic() - before < PATIENCE_S / 3
    time.sleep(1)  # an app that went on would draw the answer, and hide the message
    assert not tab.ask("document.getElementById('over').hidden")
    assert tab.ask("document.getElementById('title').textContent") == "The lab has stopped"
    tab.click("#begin")
    tab.until("A has sent 64 bytes")


@in_chromium
def test_the_load_of_the_bench_runs_in_the_page(tab: LabTab) -> None:
    tab.python(bench.ENGINE)
    assert tab.python("loads.commands(1)") > 0
