"""Firefox without a window, driven by WebDriver BiDi over its WebSocket: keys in, values out."""

from __future__ import annotations

import asyncio
import contextlib
import re
import shutil
import signal
import time
from typing import TYPE_CHECKING, Any, Self

import aiohttp

from tests.page.lab_tab import TEXT

if TYPE_CHECKING:
    from pathlib import Path

FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox") or ""
PATIENCE_S = 90.0
_LISTENS = re.compile(r"WebDriver BiDi listening on (ws://\S+)")
_ENTER = "\ue006"
# Firefox's own requests, none of which is one of the page.
_SETTINGS = """
user_pref("app.normandy.enabled", false);
user_pref("browser.safebrowsing.downloads.enabled", false);
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("network.captive-portal-service.enabled", false);
user_pref("network.connectivity-service.enabled", false);
user_pref("remote.active-protocols", 1);
user_pref("toolkit.telemetry.reportingpolicy.firstRun", false);
"""


class Firefox:
    """One page, inside `async with`. errors: of its console; requests: the address of each."""

    def __init__(self, profile: Path) -> None:
        self.errors: list[str] = []
        self.requests: list[str] = []
        self._profile = profile
        self._number = 0
        self._context = ""
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}

    async def __aenter__(self) -> Self:
        self._profile.mkdir()
        (self._profile / "user.js").write_text(_SETTINGS)
        self._process = await asyncio.create_subprocess_exec(
            FIREFOX, "--headless", "--no-remote", "--remote-debugging-port", "0", "--profile",
            str(self._profile), stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )  # fmt: skip
        address = await asyncio.wait_for(self._address(), PATIENCE_S)
        self._client = aiohttp.ClientSession()
        self._socket = await self._client.ws_connect(f"{address}/session", max_msg_size=0)
        self._task = asyncio.create_task(self._read())
        await self.call("session.new", capabilities={})
        events = ["log.entryAdded", "network.beforeRequestSent"]
        await self.call("session.subscribe", events=events)
        tree = await self.call("browsingContext.getTree")
        self._context = tree["contexts"][0]["context"]
        return self

    async def __aexit__(self, *_given: object) -> None:
        self._task.cancel()
        await self._socket.close()
        await self._client.close()
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGTERM)
        await asyncio.wait_for(self._process.wait(), PATIENCE_S)

    async def _address(self) -> str:
        assert self._process.stderr is not None
        while line := await self._process.stderr.readline():
            if found := _LISTENS.search(line.decode("utf-8", "replace")):
                return found[1]
        raise AssertionError("firefox has ended")

    # ------------------------------------------------------------------ the protocol
    async def call(self, method: str, **params: object) -> dict[str, Any]:
        """The result of one command."""
        self._number += 1
        answer = self._answers[self._number] = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": self._number, "method": method, "params": params})
        return await asyncio.wait_for(answer, PATIENCE_S)

    async def _read(self) -> None:
        async for received in self._socket:
            message = received.json()
            params = message.get("params", {})
            if (answer := self._answers.pop(message.get("id"), None)) is not None:
                if message["type"] == "error":
                    answer.set_exception(AssertionError(message))
                else:
                    answer.set_result(message["result"])
            elif message.get("method") == "log.entryAdded" and params["level"] == "error":
                self.errors.append(str(params["text"]))
            elif message.get("method") == "network.beforeRequestSent":
                self.requests.append(params["request"]["url"])

    # ------------------------------------------------------------------ what a reader does
    async def open(self, address: str) -> None:
        """Open a page and wait until it is read."""
        await self.call(
            "browsingContext.navigate", context=self._context, url=address, wait="complete"
        )

    async def ask(self, expression: str) -> Any:
        """The value of an expression on the page: a text, a number, a truth value or None."""
        found = await self.call(
            "script.evaluate", expression=expression, awaitPromise=True,
            target={"context": self._context},
        )  # fmt: skip
        assert found["type"] == "success", found
        return found["result"].get("value")

    async def wait(self, condition: str) -> None:
        """Wait until an expression is true on the page."""
        deadline = time.monotonic() + PATIENCE_S
        while not await self.ask(condition):
            assert time.monotonic() < deadline, f"{condition}\n{await self.ask(TEXT)}"
            await asyncio.sleep(0.05)

    async def type(self, line: str) -> None:
        """Press the keys of a line, and Enter."""
        keys = [
            {"type": kind, "value": key} for key in (*line, _ENTER) for kind in ("keyDown", "keyUp")
        ]
        source = {"type": "key", "id": "keyboard", "actions": keys}
        await self.call("input.performActions", context=self._context, actions=[source])
