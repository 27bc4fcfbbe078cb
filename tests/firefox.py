"""Firefox, driven by WebDriver BiDi.

What that protocol does not tell or cannot set, the tests ask the browser itself, in its own window:
all requests that pages and workers of any kind make, all errors of its console, and preferences.
"""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import time
from typing import TYPE_CHECKING, Any

from tests.browser import PATIENCE_S, Browser
from tests.web_socket import WebSocket

if TYPE_CHECKING:
    from pathlib import Path

FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox") or ""
_LISTENS = re.compile(rb"WebDriver BiDi listening on (ws://\S+)\n")
_KEYS = {
    "Control": "\ue009", "Enter": "\ue006", "Escape": "\ue00c", "Tab": "\ue004",
    "ArrowUp": "\ue013", "ArrowDown": "\ue015",
    **{f"F{n}": chr(0xE030 + n) for n in range(1, 13)},
}  # fmt: skip
# No requests of Firefox's own; after a kill it starts as if it had been closed. %s: a folder.
_SETTINGS = """
user_pref("app.normandy.enabled", false);
user_pref("app.update.disabledForTesting", true);
user_pref("browser.download.dir", "%s");
user_pref("browser.download.folderList", 2);
user_pref("browser.safebrowsing.downloads.enabled", false);
user_pref("browser.sessionstore.resume_from_crash", false);
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("network.captive-portal-service.enabled", false);
user_pref("network.connectivity-service.enabled", false);
user_pref("remote.active-protocols", 1);
user_pref("toolkit.startup.max_resumed_crashes", -1);
user_pref("toolkit.telemetry.reportingpolicy.firstRun", false);
"""
# An observer in the window of the browser: it sees each channel that is opened by content.
_WATCH = """
globalThis.labRequests = [];
globalThis.labErrors = [];
Services.obs.addObserver((subject) => {
  const channel = subject.QueryInterface(Ci.nsIHttpChannel);
  if (!channel.loadInfo.triggeringPrincipal.isSystemPrincipal) labRequests.push(channel.URI.spec);
}, "http-on-opening-request");
Services.console.registerListener({observe(message) {
  if (!(message instanceof Ci.nsIScriptError) || message.flags & Ci.nsIScriptError.warningFlag) {
    return;
  }
  const text = `${message.errorMessage} ${message.sourceName}`;
  if (/127\\.0\\.0\\.1|localhost/.test(text)) labErrors.push(text);
}});
"""
# Where the content of a frame begins that is at a place of the page.
_CORNER = """
(() => {
  const found = document.elementFromPoint(%s, %s);
  if (found?.tagName !== "IFRAME") return null;
  const box = found.getBoundingClientRect();
  return [box.left + found.clientLeft, box.top + found.clientTop];
})()
"""
_GATHER = "JSON.stringify([labRequests.splice(0), labErrors.splice(0)])"


class Firefox(Browser):
    """profile: a folder of its own."""

    def __init__(self, profile: Path) -> None:
        super().__init__()
        profile.mkdir(exist_ok=True)
        (profile / "user.js").write_text(_SETTINGS % (profile / "downloads"))
        self._number = 0
        self._socket: WebSocket | None = None
        self._log = profile / "stderr.txt"
        with self._log.open("wb") as log:  # a pipe that nobody reads would stop it
            self._process = subprocess.Popen(
                [FIREFOX, "--headless", "--no-remote", "--remote-allow-system-access",
                 "--remote-debugging-port", "0", "--profile", str(profile)],
                stdout=subprocess.DEVNULL, stderr=log, start_new_session=True,
            )  # fmt: skip
        self._socket = WebSocket(f"{self._address()}/session", PATIENCE_S)
        wanted = {"unhandledPromptBehavior": {"default": "accept"}}
        self.call("session.new", capabilities={"alwaysMatch": wanted})
        events = ["log.entryAdded", "browsingContext.userPromptOpened"]
        self.call("session.subscribe", events=events)
        self._context = self.call("browsingContext.getTree")["contexts"][0]["context"]
        scope = {"moz:scope": "chrome"}
        self._window = self.call("browsingContext.getTree", **scope)["contexts"][0]["context"]
        self._of_window(_WATCH)

    def _address(self) -> str:
        until = time.monotonic() + PATIENCE_S
        while (found := _LISTENS.search(self._log.read_bytes())) is None:
            if time.monotonic() > until or self._process.poll() is not None:
                self.kill()
                raise AssertionError(self._log.read_text())
            time.sleep(0.05)
        return found[1].decode()

    def _ended(self) -> None:
        super()._ended()
        if self._socket is not None:
            self._socket.close()

    # ------------------------------------------------------------------ the protocol
    def call(self, method: str, **params: object) -> dict[str, Any]:
        """The result of one command; what happens meanwhile is kept."""
        self._number += 1
        assert self._socket is not None
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": params}))
        while True:
            message = json.loads(self._socket.receive())
            if message.get("id") == self._number:
                assert message["type"] == "success", message
                return dict(message["result"])
            self._note(message.get("method", ""), message.get("params", {}))

    def _note(self, method: str, params: dict[str, Any]) -> None:
        if method == "browsingContext.userPromptOpened":
            self.dialogs.append(params["message"])
        elif method == "log.entryAdded" and params["level"] == "error":
            self._errors.append(f"{params['text']}")

    def _gather(self) -> None:
        requests, errors = json.loads(self._of_window(_GATHER))
        self._requests += requests
        self._errors += errors

    def _of_window(self, expression: str) -> Any:
        """The value of an expression in the window of the browser, which may do anything."""
        return self._evaluated(expression, self._window, awaited=False)

    def _prefer(self, name: str, value: int) -> None:
        self._of_window(f"Services.prefs.setIntPref({json.dumps(name)}, {value})")

    def _evaluated(self, expression: str, context: str, *, awaited: bool) -> Any:
        found = self.call(
            "script.evaluate", expression=expression, awaitPromise=awaited,
            target={"context": context}, serializationOptions={"maxObjectDepth": 8},
        )  # fmt: skip
        assert found["type"] == "success", found
        return _deserialized(found["result"])

    # ------------------------------------------------------------------ pages
    def open(self, address: str) -> None:
        self.call("browsingContext.navigate", context=self._context, url=address, wait="complete")

    def reload(self) -> None:
        self.call("browsingContext.reload", context=self._context, wait="interactive")

    def tab(self) -> str:
        return self.turn_to(str(self.call("browsingContext.create", type="tab")["context"]))

    def turn_to(self, tab: str) -> str:
        before: str = self._context
        self._context = tab
        tree = self.call("browsingContext.getTree", root=tab)["contexts"][0]
        if tree["parent"] is None:
            self.call("browsingContext.activate", context=tab)
        return before

    def turn_into_frame(self) -> str:
        until = time.monotonic() + PATIENCE_S
        while True:
            tree = self.call("browsingContext.getTree", root=self._context)["contexts"][0]
            if tree["children"] and tree["children"][0]["url"] != "about:blank":
                return self.turn_to(str(tree["children"][0]["context"]))
            assert time.monotonic() < until, "no frame"

    def _value(self, expression: str, *, awaited: bool) -> Any:
        return self._evaluated(expression, self._context, awaited=awaited)

    # ------------------------------------------------------------------ what a reader does
    def press(self, key: str, *, control: bool = False) -> None:
        held = [_KEYS["Control"]] if control else []
        self._keys([("keyDown", each) for each in (*held, _KEYS.get(key, key))]
                   + [("keyUp", each) for each in (_KEYS.get(key, key), *held)])  # fmt: skip

    def type(self, text: str) -> None:
        self._keys([(kind, letter) for letter in text for kind in ("keyDown", "keyUp")])

    def _keys(self, events: list[tuple[str, str]]) -> None:
        actions = [{"type": kind, "value": key} for kind, key in events]
        is_framed = self.ask("document.activeElement?.tagName === 'IFRAME'")
        context = self._frame() if is_framed else self._context
        self._perform(context, {"type": "key", "id": "keyboard", "actions": actions})

    def _frame(self) -> str:
        """The frame of the page, which gets no events from the page: it is another process."""
        tree = self.call("browsingContext.getTree", root=self._context)["contexts"][0]
        return str(tree["children"][0]["context"])

    def mouse(self, x: float, y: float) -> None:
        self._point("mouse", x, y)

    def touch(self, x: float, y: float) -> None:
        self._point("touch", x, y)

    def _point(self, kind: str, x: float, y: float) -> None:
        context = self._context
        if corner := self.ask(_CORNER % (x, y)):
            context, x, y = self._frame(), x - corner[0], y - corner[1]
        actions: list[dict[str, object]] = [
            {"type": "pointerMove", "x": int(x), "y": int(y)},
            {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0},
        ]  # fmt: skip
        parameters = {"pointerType": kind}
        given: dict[str, object] = {
            "type": "pointer",
            "id": kind,
            "parameters": parameters,
            "actions": actions,
        }
        self._perform(context, given)

    def _perform(self, context: str, source: dict[str, object]) -> None:
        self.call("input.performActions", context=context, actions=[source])

    def resize(self, width: int, height: int, *, touch: bool = False) -> None:
        viewport = {"width": width, "height": height}
        self.call("browsingContext.setViewport", context=self._context, viewport=viewport)
        if touch:  # Firefox does not take it back while it runs
            self._prefer("ui.primaryPointerCapabilities", _COARSE)

    def dark(self, *, is_dark: bool) -> None:
        self._prefer("layout.css.prefers-color-scheme.content-override", 0 if is_dark else 1)

    def picture(self) -> bytes:
        found = self.call("browsingContext.captureScreenshot", context=self._context)
        return base64.b64decode(found["data"])


_COARSE = 1  # as a finger is


def _deserialized(value: dict[str, Any]) -> Any:
    """A value as the protocol writes it; None for what has no counterpart."""
    match value["type"]:
        case "array":
            return [_deserialized(each) for each in value["value"]]
        case "object":
            return {name: _deserialized(each) for name, each in value["value"]}
        case _:
            return value.get("value")
