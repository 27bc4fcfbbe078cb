"""Chromium without a window, driven over a pipe: what a page shows, and what it loads."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or ""
_PATIENT_S = 60.0
_SWITCHES = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-extensions", "--disable-quic", "--site-per-process",
    "--remote-debugging-pipe",
)  # fmt: skip


def _descendants(number: int) -> list[int]:
    """The processes below one, from the table of the kernel."""
    found: list[int] = []
    for file in Path("/proc").glob(f"{number}/task/*/children"):
        with contextlib.suppress(OSError):
            for child in map(int, file.read_text().split()):
                found += [child, *_descendants(child)]
    return found


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


class Browser:
    """One page. requests: the address of each request that it made; dialogs: what popped up."""

    def __init__(self, profile: Path, size: tuple[int, int] = (1200, 900)) -> None:
        self.requests: list[str] = []
        self.dialogs: list[str] = []
        self.errors: list[str] = []
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

    def tab(self) -> str:
        """Open a tab and go on in it; returns the name of the one before, for `turn_to`."""
        before, self._session = self._session, ""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.call(
            "Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=False, flatten=True
        )
        return before

    def turn_into_frame(self) -> None:
        """Go on in the frame of another site, which is a process of its own."""
        until = time.monotonic() + _PATIENT_S
        while not self._frames:
            self.call("Page.enable")  # reads what has happened
            assert time.monotonic() < until, "no frame of another site"
        self._session = self._frames[0]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def turn_to(self, tab: str) -> str:
        """Go on in another tab; returns the name of this one."""
        before, self._session = self._session, tab
        return before

    def close(self) -> None:
        """End the browser."""
        self._process.terminate()
        self._closed()

    def kill(self) -> None:
        """End the browser and all its processes at once, as a machine does that loses its power."""
        for number in (self._process.pid, *_descendants(self._process.pid)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        self._closed()

    def _closed(self) -> None:
        self._process.wait(_PATIENT_S)
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
        until = time.monotonic() + _PATIENT_S
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
                self.requests.append(params["request"]["url"])
            case "Page.javascriptDialogOpening":
                self.dialogs.append(params["message"])
            case "Target.attachedToTarget" if self._session:  # a worker or a frame of the page
                if params["targetInfo"]["type"] == "iframe":
                    self._frames.append(params["sessionId"])
                for method in ("Network.enable", "Runtime.enable"):
                    self._send(method, {}, params["sessionId"])
            case str(method):
                self.errors += _errors(method, params)

    # ------------------------------------------------------------------ what a reader does
    def open(self, address: str) -> None:
        """Open a page and wait until it is read, its scripts included."""
        self.call("Page.navigate", url=address)
        there = f"location.href === new URL({json.dumps(address)}).href"
        self.wait(f"{there} && document.readyState === 'complete'")

    def ask(self, expression: str) -> Any:
        """The value of an expression on the page."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def wait(self, condition: str) -> None:
        """Wait until an expression is true on the page."""
        until = time.monotonic() + _PATIENT_S
        while not self.ask(condition):
            assert time.monotonic() < until, condition
            time.sleep(0.01)

    def key(self, key: str) -> None:
        """Press a key that writes nothing, such as Enter, or `/`."""
        text = {"text": "\r"} if key == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def type(self, text: str) -> None:
        """Write into the field that has the focus."""
        self.call("Input.insertText", text=text)

    def dark(self, *, is_dark: bool) -> None:
        """Prefer dark colours, or light ones."""
        scheme = "dark" if is_dark else "light"
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.call("Emulation.setEmulatedMedia", features=[feature])

    def pdf(self) -> bytes:
        """The page printed."""
        return base64.b64decode(self.call("Page.printToPDF")["data"])
