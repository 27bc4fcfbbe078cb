"""The lab in a browser: keys that are typed, the letters of its terminal, what left the page."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.browser import PATIENCE_S, Browser, descendants
from tests.chromium import CHROMIUM, Chromium
from tests.firefox import FIREFOX, Firefox

if TYPE_CHECKING:
    from collections.abc import Callable

SIZE = (1180, 760)
SNAPSHOT = "new URL('snapshot', location.href).href"
TEXT = """
(() => {
  const t = globalThis.page?.terminal, b = t?.buffer.active;
  return Array.from({length: t?.rows ?? 0}, (_, y) =>
    b.getLine(y + b.viewportY)?.translateToString(true, 0, t.cols) ?? "").join("\\n");
})()
"""


PAIR_IS_THERE = """
main = process._app.main
conversation = main.model.conversation
is_new = main.model.session is not before and conversation.last_typed[-1] == "use rc_pair"
is_new and not main.prompt.busy and not main.prompt.has_more
"""
PROMPT = """
import asyncio
app = process._app
live = app.prompt.live
str({
    "screens": app.screen_stack, "focused": app.focused, "due": app.main._is_due,
    "busy": live.busy, "said": live.said_ahead, "waiting": live._keys.waiting,
    "read": live._keys._listener is not None, "runs": live.session.app.is_running,
    "ends": live.session.app.is_done, "typed": live.session.default_buffer.text,
    "background": live.session.app._background_tasks, "queue": app.prompt.message_queue_size,
    "lines": app.main.model.conversation.last_typed,
    "tasks": [each.get_coro().__qualname__ for each in asyncio.all_tasks()],
})
"""
"""What the prompt waits for, where a test has waited in vain."""


class LabTab(Browser):
    """One tab with the lab; `visit` waits for its prompt."""

    # ------------------------------------------------------------------ what is seen
    @property
    def text(self) -> str:
        return str(self.ask(TEXT))

    def until(self, wanted: str | Callable[[str], bool]) -> str:
        """The letters of the terminal, when they have a text, or fulfil a condition."""
        deadline = time.monotonic() + PATIENCE_S
        is_there = wanted if callable(wanted) else lambda text: wanted in text
        while not is_there(text := self.text):
            self._goes_on()
            assert time.monotonic() < deadline, f"no {wanted!r} on\n{text}\n{self._state()}"
            time.sleep(0.03)
        return text

    def wait(self, condition: str) -> None:
        """Wait until an expression is true on the page; a lab that has stopped fails at once."""
        until = time.monotonic() + PATIENCE_S
        while not self.ask(condition):
            self._goes_on()
            assert time.monotonic() < until, f"{condition}\n{self._state()}"
            time.sleep(0.01)

    def _goes_on(self) -> None:
        wrong = self.ask("document.getElementById('detail')?.textContent ?? ''")
        assert not wrong, wrong

    def _state(self) -> str:
        over = self.ask("location.href + ' ' + document.getElementById('over')?.innerText")
        self._measure(PROMPT)
        time.sleep(2)
        return f"{over} {self.errors}\n{self.ask('globalThis.page?.measured')}"

    def _measure(self, program: str) -> None:
        text = json.dumps(program)
        self.ask(
            "globalThis.page && (page.measured = null,"
            f" page.tell({{kind: 'measure', text: {text}}}))"
        )

    def matches(self, pattern: str) -> str:
        """The letters, when they match."""
        return self.until(lambda text: re.search(pattern, text) is not None)

    # ------------------------------------------------------------------ what is done
    def visit(self, address: str, wanted: str = "A>") -> str:
        """Open an address and wait for the lab; a fragment alone would not load the page again."""
        self.open("about:blank")
        self.open(address)
        return self.until(wanted)

    def say(self, line: str, wanted: str = "") -> str:
        """Type a line; what is seen when the answer has a text."""
        self.type(line)
        self.press("Enter")
        return self.until(wanted) if wanted else self.text

    def new(self) -> None:
        """An empty world, whatever was there before."""
        self.press("Escape")
        self.press("Escape")
        self.press("u", control=True)
        self.python("before = process._app.main.model.session; 1")
        self.say("new")
        self.say("use rc_pair")
        deadline = time.monotonic() + PATIENCE_S
        while not self.python(PAIR_IS_THERE):  # its letters are on the screen of the last test, too
            self._goes_on()
            assert time.monotonic() < deadline, f"{self.text}\n{self._state()}"
            time.sleep(0.03)

    def click(self, selector: str) -> None:
        """Click the middle of an element."""
        self.mouse(*self._middle(selector))

    def tap(self, selector: str) -> None:
        """Tap the middle of an element."""
        self.touch(*self._middle(selector))

    def _middle(self, selector: str) -> tuple[float, float]:
        x, y = self.ask(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            " e.scrollIntoView({block: 'nearest'}); const r = e.getBoundingClientRect();"
            " return [r.left + r.width / 2, r.top + r.height / 2]; })()"
        )
        return float(x), float(y)

    def click_text(self, words: str) -> None:
        """Click a text in the terminal."""
        rows = self.text.split("\n")
        y = next(n for n, row in enumerate(rows) if words in row)
        left, top, width, height = self.ask(
            "(() => { const r = document.querySelector('.xterm-screen').getBoundingClientRect();"
            "return [r.left, r.top, r.width / page.terminal.cols, r.height / page.terminal.rows];"
            " })()"
        )
        self.mouse(left + (rows[y].index(words) + 2) * width, top + (y + 0.5) * height)

    def python(self, program: str) -> Any:
        """The value of an expression, or of a program's last line, in the worker."""
        self._measure(program)
        self.wait("page.measured !== null")
        return self.ask("page.measured")


class ChromiumTab(LabTab, Chromium):
    """The lab in Chromium."""

    def __init__(self, profile: Path) -> None:
        super().__init__(profile, SIZE)
        self.resize(*SIZE)

    def has_snapshot(self) -> bool:
        """Whether the browser has kept Python's memory for later starts of this page."""
        return bool(self.eventually(f"caches.match({SNAPSHOT}).then((found) => Boolean(found))"))

    def until_snapshot(self) -> None:
        """Wait until it has kept that of the first start."""
        until = time.monotonic() + PATIENCE_S
        while not self.has_snapshot():
            assert time.monotonic() < until, self._state()
            time.sleep(0.05)

    def worker_cpu_s(self) -> float:
        """CPU time, in seconds, that the threads of workers have taken."""
        return sum(
            int((task / "schedstat").read_text().split()[0]) / 1e9
            for number in descendants(self._process.pid)
            for task in Path(f"/proc/{number}/task").iterdir()
            if (task / "comm").read_text().startswith("DedicatedWorker")
        )


class FirefoxTab(LabTab, Firefox):
    """The lab in Firefox."""

    def __init__(self, profile: Path) -> None:
        super().__init__(profile)
        self.resize(*SIZE)


TABS: dict[str, type[ChromiumTab | FirefoxTab]] = {"chromium": ChromiumTab, "firefox": FirefoxTab}
INSTALLED = {"chromium": bool(CHROMIUM), "firefox": bool(FIREFOX)}
