"""Chromium, driven over a pipe by its DevTools protocol."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from typing import TYPE_CHECKING, Any

from tests.browser import PATIENCE_S, Browser

if TYPE_CHECKING:
    from pathlib import Path

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or ""
_SWITCHES = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-extensions", "--disable-quic", "--site-per-process",
    "--remote-debugging-pipe",
)  # fmt: skip
_CONTROL = 2
_CODES = {
    "Enter": 13, "Tab": 9, "Escape": 27, "ArrowUp": 38, "ArrowDown": 40,
    **{f"F{n}": 111 + n for n in range(1, 13)},
}  # fmt: skip


def _errors(method: str, params: dict[str, Any]) -> list[str]:
    """What an event says is wrong on the page."""
    match method:
        case "Runtime.exceptionThrown":
            return [str(params["exceptionDetails"])]
        case "Runtime.consoleAPICalled" if params["type"] == "error":
            return [" ".join(str(each.get("value")) for each in params["args"])]
        case "Log.entryAdded":
            return [f"{params['entry']['text']} {params['entry'].get('url')}"]
    return []


class Chromium(Browser):
    """profile: a folder of its own. size: of the window, in pixels."""

    def __init__(self, profile: Path, size: tuple[int, int] = (1200, 900)) -> None:
        super().__init__()
        self._frames: list[str] = []  # sessions of frames of another site
        self._rest = b""
        self._number = 0
        self._session = ""
        reads, self._commands = os.pipe()
        self._answers, writes = os.pipe()
        line = f'exec "$@" 3<&{reads} 4>&{writes}'
        switches = [*_SWITCHES, f"--user-data-dir={profile}", f"--window-size={size[0]},{size[1]}"]
        self._process = subprocess.Popen(
            ["bash", "-c", line, "bash", CHROMIUM, *switches, "about:blank"],
            pass_fds=(reads, writes), stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(reads)
        os.close(writes)
        self.tab()

    def _ended(self) -> None:
        super()._ended()
        os.close(self._commands)
        os.close(self._answers)

    # ------------------------------------------------------------------ the protocol
    def call(self, method: str, **params: object) -> dict[str, Any]:
        """The answer to one command; what happens meanwhile is kept."""
        number = self._send(method, params, self._session)
        while True:
            message = self._next()
            if message.get("id") == number:
                assert "error" not in message, message
                return dict(message["result"])

    def _send(self, method: str, params: dict[str, object], session: str) -> int:
        self._number += 1
        by_name: dict[str, object] = {"id": self._number, "method": method, "params": params}
        if session:
            by_name["sessionId"] = session
        os.write(self._commands, json.dumps(by_name).encode() + b"\0")
        return self._number

    def _next(self) -> dict[str, Any]:
        until = time.monotonic() + PATIENCE_S
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._answers], [], [], until - time.monotonic())
            assert ready, "chromium does not answer"
            octets = os.read(self._answers, 1 << 16)
            assert octets, "chromium has ended"
            self._rest += octets
        first, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(first)
        self._note(message)
        return message

    def _note(self, message: dict[str, Any]) -> None:
        params = message.get("params", {})
        match message.get("method"):
            case "Network.requestWillBeSent":
                self._requests.append(params["request"]["url"])
            case "Page.javascriptDialogOpening":
                self.dialogs.append(params["message"])
            case "Target.attachedToTarget" if self._session:  # a worker or a frame of the page
                if params["targetInfo"]["type"] == "iframe":
                    self._frames.append(params["sessionId"])
                for method in ("Network.enable", "Runtime.enable"):
                    self._send(method, {}, params["sessionId"])
            case str(method):
                self._errors += _errors(method, params)

    def _gather(self) -> None:
        self.call("Page.enable")  # events that come before its answer are noted

    # ------------------------------------------------------------------ pages
    def open(self, address: str) -> None:
        self.call("Page.navigate", url=address)
        there = f"location.href === new URL({json.dumps(address)}).href"
        self.wait(f"{there} && document.readyState === 'complete'")

    def reload(self) -> None:
        self.call("Page.reload")

    def tab(self) -> str:
        before, self._session = self._session, ""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        self._enable()
        self.call(
            "Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=False, flatten=True
        )
        return before

    def _enable(self) -> None:
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def turn_to(self, tab: str) -> str:
        before, self._session = self._session, tab
        return before

    def turn_into_frame(self) -> str:
        until = time.monotonic() + PATIENCE_S
        while not self._frames:  # a frame of another site is a process of its own
            self._gather()
            assert time.monotonic() < until, "no frame of another site"
        before = self.turn_to(self._frames[0])
        self._enable()
        return before

    def _value(self, expression: str, *, awaited: bool) -> Any:
        found = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=awaited
        )
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    # ------------------------------------------------------------------ what a reader does
    def press(self, key: str, *, control: bool = False) -> None:
        """Press a key by its name, with its number, which xterm.js reads."""
        named: dict[str, Any] = {
            "key": key, "code": key if len(key) > 1 else f"Key{key.upper()}",
            "windowsVirtualKeyCode": _CODES.get(key) or ord(key.upper()),
            "modifiers": _CONTROL if control else 0,
        }  # fmt: skip
        text = {"Enter": "\r", "Tab": "\t"}.get(key, key if len(key) == 1 else "")
        if text and not control:
            named["text"] = text
        self.call("Input.dispatchKeyEvent", type="keyDown", **named)
        self.call("Input.dispatchKeyEvent", type="keyUp", **named)

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)

    def mouse(self, x: float, y: float) -> None:
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def touch(self, x: float, y: float) -> None:
        self.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
        self.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def resize(self, width: int, height: int, *, touch: bool = False) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
            mobile=touch,
        )  # fmt: skip
        self.call("Emulation.setTouchEmulationEnabled", enabled=touch)

    def dark(self, *, is_dark: bool) -> None:
        scheme = "dark" if is_dark else "light"
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.call("Emulation.setEmulatedMedia", features=[feature])

    def picture(self) -> bytes:
        return base64.b64decode(self.call("Page.captureScreenshot")["data"])

    def pdf(self) -> bytes:
        """The page printed."""
        return base64.b64decode(self.call("Page.printToPDF")["data"])
