"""The lab in Chromium: keys that are typed, the letters of its terminal, what left the page."""

from __future__ import annotations

import base64
import json
import re
import time
from typing import TYPE_CHECKING, Any

from tests.browser import Browser

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PATIENCE_S = 90.0
SIZE = (1180, 760)
TEXT = """
(() => {
  const t = globalThis.page?.terminal, b = t?.buffer.active;
  return Array.from({length: t?.rows ?? 0}, (_, y) =>
    b.getLine(y + b.viewportY)?.translateToString(true, 0, t.cols) ?? "").join("\\n");
})()
"""
_CODES = {
    "Enter": 13, "Tab": 9, "Escape": 27, "ArrowUp": 38, "ArrowDown": 40,
    **{f"F{n}": 111 + n for n in range(1, 13)},
}  # fmt: skip
_CONTROL, _SHIFT = 2, 8


class LabTab(Browser):
    """One tab with the lab; `open` waits for its prompt."""

    def __init__(self, profile: Path, size: tuple[int, int] = SIZE) -> None:
        super().__init__(profile, size)
        self.resize(*size)

    def resize(self, width: int, height: int, *, touch: bool = False) -> None:
        """The size of the page, in pixels. touch: as of a tablet."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
            mobile=touch,
        )  # fmt: skip
        self.call("Emulation.setTouchEmulationEnabled", enabled=touch)

    # ------------------------------------------------------------------ what is seen
    @property
    def text(self) -> str:
        return str(self.ask(TEXT))

    def until(self, wanted: str | Callable[[str], bool]) -> str:
        """The letters of the terminal, when they have a text, or fulfil a condition."""
        deadline = time.monotonic() + PATIENCE_S
        is_there = wanted if callable(wanted) else lambda text: wanted in text
        while not is_there(text := self.text):
            wrong = self.ask("document.getElementById('detail')?.textContent ?? ''")
            assert not wrong, wrong
            assert time.monotonic() < deadline, f"no {wanted!r} on\n{text}\n{self._state()}"
            time.sleep(0.03)
        return text

    def _state(self) -> str:
        over = self.ask("location.href + ' ' + document.getElementById('over')?.innerText")
        return f"{over} {self.errors}"

    def matches(self, pattern: str) -> str:
        """The letters, when they match."""
        return self.until(lambda text: re.search(pattern, text) is not None)

    # ------------------------------------------------------------------ what is done
    def visit(self, address: str, wanted: str = "A>") -> str:
        """Open an address and wait for the lab; a fragment alone would not load the page again."""
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=address)
        return self.until(wanted)

    def press(self, key: str, modifiers: int = 0) -> None:
        """Press a key by its name, with its number, which xterm.js reads."""
        code = _CODES.get(key) or ord(key.upper())
        text = {"Enter": "\r", "Tab": "\t"}.get(key)
        named: dict[str, Any] = {
            "key": key, "code": key if len(key) > 1 else f"Key{key.upper()}",
            "windowsVirtualKeyCode": code, "modifiers": modifiers,
        }  # fmt: skip
        if text:
            named["text"] = text
        self.call("Input.dispatchKeyEvent", type="keyDown", **named)
        self.call("Input.dispatchKeyEvent", type="keyUp", **named)

    def control(self, letter: str) -> None:
        self.press(letter, _CONTROL)

    def say(self, line: str, wanted: str = "") -> str:
        """Type a line; what is seen when the answer has a text."""
        self.type(line)
        self.press("Enter")
        return self.until(wanted) if wanted else self.text

    def new(self) -> None:
        """An empty world, whatever was there before."""
        self.press("Escape")
        self.press("Escape")
        self.control("u")
        self.say("new", "Empty world")
        self.say("use rc_pair", "A.qp0")

    def click(self, selector: str) -> None:
        """Click the middle of an element, with a real mouse event: it counts as of the user."""
        box = self.ask(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            " e.scrollIntoView({block: 'nearest'}); const r = e.getBoundingClientRect();"
            " return [r.left + r.width / 2, r.top + r.height / 2]; })()"
        )
        self.mouse(*box)

    def mouse(self, x: float, y: float) -> None:
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

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

    def eventually(self, promise: str) -> Any:
        """What a promise of the page comes to."""
        found = self.call(
            "Runtime.evaluate", expression=promise, awaitPromise=True, returnByValue=True
        )
        return found["result"].get("value")

    def python(self, program: str) -> Any:
        """The value of an expression, or of a program's last line, in the worker."""
        self.ask(
            f"page.measured = null; page.tell({{kind: 'measure', text: {json.dumps(program)}}})"
        )
        self.wait("page.measured !== null")
        return self.ask("page.measured")

    def picture(self) -> bytes:
        return base64.b64decode(self.call("Page.captureScreenshot")["data"])
