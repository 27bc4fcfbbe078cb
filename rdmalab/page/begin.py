"""Run the app in the worker of a page: what it is begun with, what is kept, what is handed out."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rdmalab.page.driver import Glass, driver_of
from rdmalab.page.state_files import KeptFile, StateFiles, TabIdentity
from rdmalab.recovery.bug_reports import called, report, text_of
from rdmalab.recovery.user_paths import STATE, replace_identity
from rdmalab.tui.driver import Ground
from rdmalab.tui.face import Face
from rdmalab.views import fmt
from rdmalab.workbench import settings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rdmalab.page.state_files import Post
    from rdmalab.tui.app import Rdmalab

_SHARED = re.compile(r"rdmalab:\d+:")
_GLYPHS = str.maketrans("\u23f2", "\u25f7")  # a clock that the font of the page lacks → one it has
_OFTEN_S = 1.0  # how often changed files are looked for that no line of the prompt has announced


class Page(NamedTuple):
    """address: without a fragment. tab: a number, another for each page that is open."""

    address: str
    tab: str


class PageProcess:
    """The application in a worker: `run` it, and hand it what the page reports.

    home: the working directory of the app. size: columns and rows of the terminal. kept: files of
    earlier pages, by their path.
    """

    def __init__(
        self, home: Path, page: Page, post: Post, size: Callable[[], Sequence[int]],
        kept: Mapping[str, KeptFile],
    ) -> None:  # fmt: skip
        self._post = post
        self._home = home
        self._address = page.address
        self._glass = Glass(
            lambda text: post("out", "", text.translate(_GLYPHS)), lambda: _pair(size())
        )
        self._app: Rdmalab | None = None
        self._files = StateFiles(home, post)
        self._files.fill(kept)
        os.environ[STATE] = str(self._files.state)
        os.chdir(home)
        replace_identity(TabIdentity(page.tab))

    async def run(self, lines: Sequence[str], *, dark: bool) -> int:
        """Run the application until it ends; returns its exit code.

        lines: carried out first. dark: whether the page is dark.
        """
        from rdmalab.tui.launch import application, left

        face = Face(
            driver_of(self._glass), self._copy, self._hand_out, self._tell, self._files.record
        )
        self._app = app = application(lines, is_kept=True, face=face)
        self.ground(dark=dark)
        watch = asyncio.ensure_future(self._watch())
        try:
            await app.run_async(mouse=settings.read().mouse)
            bug = app._exception  # noqa: SLF001  (Textual prints it where a page has no reader)
        except Exception as raised:  # noqa: BLE001  (whatever it is, the page has to say it)
            bug = raised
        finally:
            watch.cancel()
        if bug is not None:
            self.crash(bug)
            return 1
        code = left(app)
        self._files.look()
        self._post("end", "", str(code))
        return code

    def crash(self, bug: Exception) -> None:
        """Send the page the report of a bug that has stopped the app, and keep it as a file.

        Pyodide's own message of an exception is empty while the app runs: it is read from stderr,
        which Textual has replaced.
        """
        model = self._app.model if self._app is not None else None
        typed = model.conversation.last_typed if model is not None else ()
        report(bug, typed)
        self._files.look()
        self._post("crash", "", f"{called(bug)}\n\n{text_of(bug, typed)}")

    async def _watch(self) -> None:
        """Look for changed files: settings, work in labs, the history of lines."""
        while True:
            await asyncio.sleep(_OFTEN_S)
            self._files.look()

    # ---- what the page reports ------------------------------------------------------------------

    def receive(self, data: str) -> None:
        """Keys, pastes, the mouse; the prompt reads later what is typed before it is there."""
        self._glass.receive(data)

    def resize(self) -> None:
        """The terminal has another size."""
        if self._glass.driver is not None:
            self._glass.driver.resize()

    def focus(self, *, has: bool) -> None:
        """The page has got or lost the focus."""
        if self._glass.driver is not None:
            self._glass.driver.focus(has=has)

    def ground(self, *, dark: bool, chosen: bool = False) -> None:
        """The page is dark, or light. chosen: by its control, which replaces a theme of F3."""
        if self._app is None:
            return
        if chosen and settings.read().theme != "auto":
            settings.write("theme", "auto")
        self._app.on_ground(Ground(dark=dark))

    def plain(self, *, on: bool) -> None:
        """Print answers as sentences, one fact a line, or as drawings."""
        if self._app is not None and self._app.model is not None:
            self._app.model.conversation.output.plain = on

    def say(self, line: str) -> None:
        """Carry out a line as if it had been typed."""
        if self._app is not None:
            self._app.say(line)

    def put(self, name: str, octets: bytes) -> None:
        """Write a file that was dropped on the page, and load it. name: without a directory."""
        name = Path(name).name
        (self._home / name).write_bytes(octets)
        self._files.look()
        self.say(f'load "{name}"')

    def keep(self, name: str, octets: bytes, changed_ms: int) -> None:
        """Write a state file that another tab has written."""
        self._files.fill({name: KeptFile(octets, changed_ms)})

    # ---- what leaves the app --------------------------------------------------------------------

    def _draw(self, text: str) -> None:
        self._post("out", "", text.translate(_GLYPHS))

    def _copy(self, text: str) -> str:
        """Send a text to the page, which has the clipboard."""
        if _SHARED.match(text):
            link = f"{self._address}#{text}"
            self._post("link", text, link)
            return f"link to this session, in the clipboard and the address bar: {link}"
        self._post("copy", "", text)
        count = text.count("\n") + 1
        return f"copied to the clipboard: {fmt.count(count, 'line')}"

    def _hand_out(self, file: str) -> str:
        path = Path(file)
        self._post("file", path.name, path.read_bytes())
        return f"downloaded: {path.name}"

    def _tell(self, text: str) -> None:
        self._post("line", "", text.translate(_GLYPHS))


def _pair(size: Sequence[int]) -> tuple[int, int]:
    columns, rows = size
    return int(columns), int(rows)
