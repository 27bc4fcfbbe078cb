"""The app in a page, without a browser: its terminal is pyte, its page is a list of messages."""

from __future__ import annotations

import asyncio
import re
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pyte
import pytest

from rdmalab.page.begin import Page, PageProcess
from rdmalab.page.state_files import KeptFile
from rdmalab.recovery import user_paths
from rdmalab.recovery.user_paths import STATE
from rdmalab.tui.app import Rdmalab

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

PATIENCE_S = 60.0
ADDRESS = "https://lab.example/x/"
_UNKNOWN = re.compile(r"\x1b\[\?[0-9;]*\$p|\x1b\[[<>=][0-9;]*[a-zA-Z]|\x1b\].*?(?:\x07|\x1b\\\\)")


class Terminal:
    """The page: what it shows, and what it was sent."""

    def __init__(self, home: Path, kept: Mapping[str, KeptFile]) -> None:
        self.size = [120, 40]
        self.screen = pyte.Screen(*self.size)
        self._stream = pyte.Stream(self.screen)
        self.sent: list[tuple[str, str, str | bytes]] = []
        self.process = PageProcess(home, Page(ADDRESS, "7"), self._post, lambda: self.size, kept)

    def _post(self, kind: str, name: str, content: str | bytes) -> None:
        if kind == "out":
            self._stream.feed(_UNKNOWN.sub("", str(content)))
        else:
            self.sent.append((kind, name, content))

    @property
    def text(self) -> str:
        return "\n".join(self.screen.display)

    def of(self, kind: str) -> list[tuple[str, str | bytes]]:
        return [(name, content) for each, name, content in self.sent if each == kind]

    async def sees(self, text: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while text not in self.text:
            assert time.monotonic() < deadline, self.text
            await asyncio.sleep(0.01)

    async def say(self, line: str, answer: str) -> None:
        self.process.receive(line + "\r")
        await self.sees(answer)


@asynccontextmanager
async def page(home: Path, *lines: str, **kept: KeptFile) -> AsyncIterator[Terminal]:
    terminal = Terminal(home, kept)
    task = asyncio.ensure_future(terminal.process.run(lines, dark=True))
    try:
        await terminal.sees("A>")
        yield terminal
        terminal.process.receive("\x11")  # ^Q
        assert await asyncio.wait_for(task, PATIENCE_S) == 0
        assert terminal.sent[-1] == ("end", "", "0")
    finally:
        task.cancel()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(STATE, "")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.setattr(user_paths, "_identity", user_paths.ProcessIdentity())
    monkeypatch.chdir(tmp_path)
    return tmp_path


async def test_lines_are_kept_before_they_run_and_files_are_handed_out(home: Path) -> None:
    async with page(home) as it:
        await it.say("alloc_pd A.pd7", "A.pd7 created")
        name, head = next(each for each in it.of("append") if "sessions" in each[0])
        assert re.fullmatch(r"\.state/sessions/[\d-]+-7-0\.jsonl", name)
        assert b'"begin"' in bytes(head)  # type: ignore[arg-type]
        assert (name, b'{"typed":"alloc_pd A.pd7"}\n') in it.of("append")
        await it.say("save mine", "downloaded: mine.rdmalab.yaml")
        await it.say("export pcapng run.pcapng", "downloaded: run.pcapng")
        files = dict(it.of("file"))
        assert bytes(files["mine.rdmalab.yaml"]).startswith(b"rdmalab: 1")  # type: ignore[arg-type]
        assert bytes(files["run.pcapng"]).startswith(b"\x0a\x0d\x0d\x0a")  # type: ignore[arg-type]
        said = [text for _, text in it.of("line")]
        assert "A> alloc_pd A.pd7" in said
        assert any("A.pd7 created" in str(text) for text in said)
    kept = dict(it.of("keep"))
    assert "mine.rdmalab.yaml" in kept
    assert any(b'"left":true' in bytes(octets) for _, octets in it.of("append"))  # type: ignore[arg-type]


async def test_keys_typed_before_the_prompt_are_read_by_it(home: Path) -> None:
    terminal = Terminal(home, {})
    terminal.process.receive("alloc_pd ")
    task = asyncio.ensure_future(terminal.process.run([], dark=True))
    while terminal.process._glass.driver is None:
        await asyncio.sleep(0)
    terminal.process.receive("A.pd7\r")
    await terminal.sees("A.pd7 created")
    terminal.process.receive("\x11")  # ^Q
    assert await asyncio.wait_for(task, PATIENCE_S) == 0


async def test_the_first_layout_has_the_size_of_the_page(home: Path) -> None:
    async with page(home) as it:
        app = it.process._app
        assert app is not None
        assert app._driver is not None
        assert app._driver._size == (120, 40)


async def test_share_gives_a_link(home: Path) -> None:
    async with page(home) as it:
        await it.say("share", "link to this session")
        ((word, link),) = it.of("link")
        assert link == f"{ADDRESS}#{word}"
        assert word.startswith("rdmalab:")
        await it.say("copy screen", "copied to the clipboard: 40 lines")
        assert "Prompt" in str(it.of("copy")[-1][1])


async def test_a_session_of_a_closed_tab_is_offered_and_continued(home: Path) -> None:
    log = (
        b'{"rdmalab":1,"nodes":{"A":"strict","B":"strict"},"seed":0,"begin":[]}\n'
        b'{"typed":"alloc_pd A.pd7"}\n{"ended":[0,0],"commands":1}\n{"typed":"alloc_pd A.pd8"}\n'
    )
    name = ".state/sessions/20261126-100000-3-0.jsonl"
    async with page(home, **{name: KeptFile(log, 0)}) as it:
        await it.sees("was interrupted: continue restores it")
        await it.say("continue", "A.pd8 created")
        it.process._files.look()
        assert (name, "") in it.of("drop")
        assert any(b"alloc_pd A.pd8" in bytes(octets) for _, octets in it.of("append"))  # type: ignore[arg-type]


async def test_a_line_of_the_link_a_dropped_file_and_a_size(home: Path) -> None:
    scenario = b"rdmalab: 1\ntitle: dropped here\nsteps:\n  - use rc_pair\n"
    async with page(home, 'load "err/rnr-retry-exceeded"') as it:
        await it.sees("next")
        it.process.put("../x.rdmalab.yaml", scenario)
        await it.sees("dropped here")
        assert dict(it.of("keep"))["x.rdmalab.yaml"] == scenario
        it.size[:] = [90, 30]
        it.screen.resize(30, 90)
        it.process.resize()
        await it.sees("Prompt")
        it.process.focus(has=False)
        it.process.focus(has=True)


async def test_the_page_chooses_dark_or_light_and_plain_answers(home: Path) -> None:
    async with page(home) as it:
        app = it.process._app
        assert app is not None
        assert app.theme == "rdmalab-dark"
        it.process.ground(dark=False)
        assert app.theme == "rdmalab-light"
        app.choose_theme("rdmalab-contrast")
        it.process.ground(dark=True)
        assert app.theme == "rdmalab-contrast"
        it.process.ground(dark=True, chosen=True)
        assert app.theme == "rdmalab-dark"
        it.process.plain(on=True)
        await it.say("post_send A.qp0 opcode=SEND sg=A.mr0[0:64]", "SQ 2/8")
        await it.say("run 1ms", "time is up")
        it.process.say("show qp A.qp0")
        await it.sees("\u25f7 RNR timer fires")
        assert "\u23f2" not in "".join(str(text) for _, text in it.of("line"))
        it.process.keep(".state/settings.toml", b"", 0)
        it.process._files.look()
        assert ".state/settings.toml" not in dict(it.of("keep")[1:])


async def test_a_bug_that_ends_the_app_is_shown_and_kept_with_its_traceback(home: Path) -> None:
    terminal = Terminal(home, {})
    task = asyncio.ensure_future(terminal.process.run([], dark=True))
    await terminal.sees("A>")
    await terminal.say("alloc_pd A.pd7", "A.pd7 created")
    assert terminal.process._app is not None
    terminal.process._app.call_later(lambda: [][7])
    assert await asyncio.wait_for(task, PATIENCE_S) == 1
    ((_, shown),) = terminal.of("crash")
    assert terminal.sent[-1][0] == "crash"
    assert str(shown).startswith("a bug in rdmalab")
    assert "IndexError: list index out of range" in str(shown)
    assert "> alloc_pd A.pd7" in str(shown)
    assert "test_begin.py" in str(shown).partition("Traceback")[2]
    ((_, kept),) = [each for each in terminal.of("keep") if "/bugs/" in each[0]]
    assert bytes(kept).decode() in str(shown)  # type: ignore[arg-type]
    assert not any(b'"left":true' in bytes(octets) for _, octets in terminal.of("append"))  # type: ignore[arg-type]


async def test_an_exception_of_run_async_is_shown(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def ends(*_given: object, **_named: object) -> None:
        raise RuntimeError("no loop")

    monkeypatch.setattr(Rdmalab, "run_async", ends)
    terminal = Terminal(home, {})
    assert await terminal.process.run([], dark=True) == 1
    ((_, shown),) = terminal.of("crash")
    assert "RuntimeError: no loop" in str(shown)
    assert terminal.of("end") == []
