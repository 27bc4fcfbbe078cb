"""The server, as visitors meet it: with a client of HTTP and WebSocket, and real processes."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import aiohttp
import pyte
import pytest

from rdmalab.recovery.user_paths import STATE
from rdmalab.serve.server import Gate, Role, Served, Server, hosts_of, is_any, is_loopback, token
from tests.chromium import CHROMIUM, Chromium

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


pytest.importorskip("textual_serve", reason="textual-serve is not installed: the extra web")


PATIENCE_S = 60.0
LOOP = "127.0.0.1"
_UNKNOWN = re.compile(r"\x1b\[\?[0-9;]*\$p|\x1b\[[<>=][0-9;]*[a-zA-Z]")


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(STATE, str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@asynccontextmanager
async def serving(**options: Any) -> AsyncIterator[Server]:
    server = Server(Served(LOOP, 0, **options))
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


class Visitor:
    """A page: what it shows, and what it types."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, size: tuple[int, int]) -> None:
        self.socket = socket
        self.screen = pyte.Screen(*size)
        self._stream = pyte.Stream(self.screen)
        self.octets = 0

    @property
    def text(self) -> str:
        return "\n".join(self.screen.display)

    async def sees(self, text: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while text not in self.text:
            assert time.monotonic() < deadline, self.text
            await self.read(1.0)

    async def read(self, patience_s: float) -> None:
        """Read one message, if one comes in this time."""
        try:
            message = await self.socket.receive(patience_s)
        except TimeoutError:
            return
        assert message.type is aiohttp.WSMsgType.BINARY, message
        self.octets += len(message.data)
        self._stream.feed(_UNKNOWN.sub("", message.data.decode()))

    async def type(self, text: str) -> None:
        await self.socket.send_json(["stdin", text])

    async def say(self, line: str, answer: str) -> None:
        await self.type(line + "\r")
        await self.sees(answer)


@asynccontextmanager
async def visiting(
    server: Server, role: Role = Role.TYPES, size: tuple[int, int] = (100, 30)
) -> AsyncIterator[Visitor]:
    address = server.addresses[role]
    async with (
        aiohttp.ClientSession() as client,
        client.ws_connect(
            f"{address}ws?width={size[0]}&height={size[1]}", origin=address.rsplit("/", 2)[0]
        ) as socket,
    ):
        yield Visitor(socket, size)


async def status(
    address: str, *, host: str | None = None, origin: str | None = None
) -> tuple[int, str]:
    headers = {"Host": host, "Origin": origin}
    given = {name: value for name, value in headers.items() if value is not None}
    async with aiohttp.ClientSession() as client, client.get(address, headers=given) as answer:
        return answer.status, await answer.text()


async def refused_socket(address: str, origin: str | None = None, host: str | None = None) -> int:
    given = {"Host": host} if host else {}
    async with aiohttp.ClientSession() as client:
        with pytest.raises(aiohttp.WSServerHandshakeError) as found:
            await client.ws_connect(f"{address}ws", origin=origin, headers=given)
    return int(found.value.status)


# ------------------------------------------------------------------ who is let in
async def test_the_page_and_its_files_name_no_other_host() -> None:
    async with serving() as server, aiohttp.ClientSession() as client:
        address = server.addresses[Role.TYPES]
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{32}/", address)
        async with client.get(address) as answer:
            page = await answer.text()
            assert answer.status == 200
            assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
            assert "unsafe-eval" not in answer.headers["Content-Security-Policy"]
            assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert not re.search(r"https?://|//\w", page)
        for name in re.findall(r'(?:src|href)="([\w./]+)"', page):
            assert (await status(address + name))[0] == 200, name
        for name in ("static/images/background.png", "static/../server.py", "static/", "x"):
            assert (await status(address + name))[0] == 404, name


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1:1", "127.0.0.1.evil.example:{port}"]
)
async def test_a_host_of_another_name_is_refused(host: str) -> None:
    async with serving() as server:
        address = server.addresses[Role.TYPES]
        given = host.format(port=address.split(":")[2].split("/")[0])
        code, text = await status(address, host=given)
        assert (code, text) == (
            403, "the Host of the request is not a name of this server: --name adds one\n",
        )  # fmt: skip
        own = address.rsplit("/", 2)[0]
        assert await refused_socket(address, own, given) == 403


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "http://127.0.0.1:1", "null", "http://127.0.0.1", None]
)
async def test_a_connection_of_a_foreign_page_is_refused(origin: str | None) -> None:
    async with serving() as server:
        address = server.addresses[Role.TYPES]
        assert await refused_socket(address, origin) == 403
        if origin is not None:
            assert (await status(address, origin=origin))[0] == 403
        assert not server._processes


async def test_a_missing_or_wrong_token_is_refused() -> None:
    async with serving() as server:
        address = server.addresses[Role.TYPES]
        own, token, _ = address.rsplit("/", 2)
        wrong = ["", "static/js/textual.js", "x/", f"{token[:-1]}/", f"{token}x/", f"{token}/../"]
        for path in [*wrong, f"{token.swapcase()}/", "%FF/", f"{token[::-1]}/page.js"]:
            code, text = await status(f"{own}/{path}")
            assert (code, text) == (
                403, "the address needs the token that the server has printed\n",
            ), path  # fmt: skip
        assert await refused_socket(f"{own}/{token[::-1]}/", own) == 403


async def test_further_names_are_let_in() -> None:
    async with serving(names=("lab.example",)) as server:
        address = server.addresses[Role.TYPES]
        local = address.replace("lab.example", LOOP)
        assert address.startswith("http://lab.example:")
        assert (await status(local, host="lab.example", origin="https://lab.example"))[0] == 200
        assert (await status(local))[0] == 200
        assert (await status(local, host="other.example"))[0] == 403


# ------------------------------------------------------------------ a process for each visitor
@pytest.mark.slow
async def test_each_visitor_has_a_session_and_one_more_than_admitted_has_none() -> None:
    async with serving(visitors_most=2) as server:
        async with visiting(server) as one, visiting(server, size=(80, 24)) as two:
            await one.sees("A>")
            await two.sees("A>")
            await one.say("alloc_pd A.pd7", "A.pd7 created")
            await two.say("show pd", "A.pd0")
            assert "A.pd7" not in two.text
            own = server.addresses[Role.TYPES].rsplit("/", 2)[0]
            assert await refused_socket(server.addresses[Role.TYPES], own) == 503
            await one.socket.send_json(["resize", {"width": 60, "height": 20}])
            one.screen.resize(20, 60)
            await one.say("alloc_pd A.pd8", "A.pd8 created")
            processes = [process._process for process in server._processes]
            assert len(processes) == 2
        await asyncio.sleep(0)
        deadline = time.monotonic() + PATIENCE_S
        while server._visitors:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.02)
        assert all(process is not None and process.returncode == 0 for process in processes)
        async with visiting(server) as again:
            await again.sees("A>")
            await again.say("continue", "Continued: ")


@pytest.mark.slow
async def test_keys_typed_before_the_prompt_are_read_by_it() -> None:
    async with serving() as server, visiting(server) as one:
        await one.type("alloc_pd A.pd7\r")
        await one.sees("A.pd7 created")


@pytest.mark.slow
@pytest.mark.parametrize(
    "message",
    [
        "", "{}", "[]", "null", "[1]", '["stdin"]', '["stdin", 3]', '["resize", {}]',
        '["resize", {"width": -1, "height": "x"}]', '["resize", {"width": 1e9, "height": 24}]',
        '["quit"]', "[" * 5000,
    ],
)  # fmt: skip
async def test_messages_that_make_no_sense_change_nothing(message: str) -> None:
    async with serving() as server, visiting(server) as it:
        await it.sees("A>")
        await it.socket.send_str(message)
        await it.say("alloc_pd A.pd7", "A.pd7 created")


# ------------------------------------------------------------------ a class that watches
@pytest.mark.slow
async def test_a_class_watches_and_cannot_type() -> None:
    size = (90, 28)
    async with serving(shared=size, visitors_most=20) as server:
        async with visiting(server, Role.TYPES, size) as lecturer:
            await lecturer.sees("A>")
            await lecturer.say("alloc_pd A.pd7", "A.pd7 created")
            async with (
                visiting(server, Role.WATCHES, size) as first,
                visiting(server, Role.WATCHES, size) as second,
            ):
                await first.sees("A.pd7 created")  # what was before it came, too
                await second.sees("A.pd7 created")
                await first.type("alloc_pd A.pd8\r")
                await first.socket.send_json(["resize", {"width": 40, "height": 12}])
                await lecturer.say("alloc_pd A.pd9", "A.pd9 created")
                await second.sees("A.pd9 created")
                assert "A.pd8" not in lecturer.text + second.text
                first.socket._response.close()  # it vanishes without a word
                await lecturer.say("alloc_pd A.pd10", "A.pd10 created")
                await second.sees("A.pd10 created")
        async with visiting(server, Role.TYPES, size) as back:  # the lecturer's page was closed
            await back.sees("A.pd10 created")
            await back.type("quit\r")
            with pytest.raises(AssertionError, match="CLOSE"):
                await back.sees("no such text")
        async with visiting(server, Role.TYPES, size) as again:
            await again.sees("A>")


@pytest.mark.slow
async def test_a_page_has_the_colours_of_the_app_and_not_those_of_the_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The 16 colours of textual.js are those of xterm.js: grey on black could hardly be read."""
    monkeypatch.delenv("COLORTERM", raising=False)
    async with serving() as server, visiting(server) as visitor:
        await visitor.sees("A>")
        cells = [cell for row in visitor.screen.buffer.values() for cell in row.values()]
        named = {cell.fg for cell in cells if not re.fullmatch("[0-9a-f]{6}|default", cell.fg)}
        assert named == set()
        assert {cell.fg for cell in cells} != {"default"}


@pytest.mark.slow
@pytest.mark.skipif(not CHROMIUM, reason="chromium is not installed; .ci/run installs it")
async def test_a_browser_types_and_asks_no_other_host(tmp_path: Path) -> None:
    """The policy of the page admits all that textual.js does."""
    size = (90, 28)
    async with serving(shared=size) as server:
        address = server.addresses[Role.TYPES]

        def type_in_browser() -> Chromium:
            browser = Chromium(tmp_path / "profile")
            browser.open(address)
            browser.wait("document.body.classList.contains('-first-byte')")
            browser.ask("document.querySelector('textarea').focus()")
            browser.type("alloc_pd A.pd7")
            browser.press("Enter")
            return browser

        async with visiting(server, Role.WATCHES, size) as watcher:
            await watcher.sees("A>")
            browser = await asyncio.to_thread(type_in_browser)
            try:
                await watcher.sees("A.pd7 created")
                errors = await asyncio.to_thread(lambda: browser.errors)
                requests = await asyncio.to_thread(lambda: browser.requests)
            finally:
                await asyncio.to_thread(browser.close)
        # Chromium without a GPU says that its own WebGL is deprecated.
        assert [each for each in errors if "software WebGL" not in each] == []
        own = address.rsplit("/", 2)[0]
        assert [each for each in requests if not each.startswith((own, "data:", "about:"))] == []


# ------------------------------------------------------------------ the end
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
async def test_no_app_outlives_the_server(number: int, state: Path) -> None:
    program = "import sys; from rdmalab.cli import main; sys.exit(main(sys.argv[1:]))"
    server = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, "serve", "--port", "0",
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    assert server.stdout is not None
    address = (await server.stdout.readline()).decode().strip()
    async with aiohttp.ClientSession() as client:
        own = address.rsplit("/", 2)[0]
        async with client.ws_connect(f"{address}ws?width=80&height=24", origin=own) as socket:
            it = Visitor(socket, (80, 24))
            await it.sees("A>")
            found = await asyncio.create_subprocess_exec(
                "ps", "-o", "pid=", "--ppid", str(server.pid), stdout=asyncio.subprocess.PIPE
            )
            apps = [int(word) for word in (await found.communicate())[0].split()]
            assert len(apps) == 1
            os.kill(server.pid, number)
            assert await asyncio.wait_for(server.wait(), PATIENCE_S) == (-9 if number == 9 else 0)
    deadline = time.monotonic() + PATIENCE_S
    while _is_alive(apps[0]):
        assert time.monotonic() < deadline, json.dumps(apps)
        await asyncio.sleep(0.05)


def _is_alive(number: int) -> bool:
    try:
        with open(f"/proc/{number}/stat", encoding="utf-8") as file:  # noqa: PTH123
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


LOOP_HOSTS = {"127.0.0.1:8000", "localhost:8000", "[::1]:8000"}


@pytest.mark.parametrize(
    ("listens_at", "port", "names", "hosts"),
    [
        ("127.0.0.1", 8000, (), LOOP_HOSTS),
        ("localhost", 8000, (), LOOP_HOSTS),
        ("::1", 8000, (), LOOP_HOSTS),
        ("192.0.2.7", 8000, (), {"192.0.2.7:8000"}),
        ("192.0.2.7", 80, (), {"192.0.2.7:80", "192.0.2.7"}),
        ("0.0.0.0", 8000, ("Lab.Example",), {*LOOP_HOSTS, "lab.example:8000", "lab.example"}),
        ("2001:db8::1", 8000, (), {"[2001:db8::1]:8000"}),
    ],
)  # fmt: skip
def test_hosts(listens_at: str, port: int, names: tuple[str, ...], hosts: set[str]) -> None:
    assert hosts_of(listens_at, port, names) == hosts


def test_a_name_is_not_a_beginning_or_an_end() -> None:
    gate = Gate(hosts_of("127.0.0.1", 8000, ()), {})
    for host in ("127.0.0.1:80001", "x127.0.0.1:8000", "127.0.0.1:8000.evil.example", "", None):
        assert "Host" in gate.refusal(host, None, is_socket=False)
    for origin in ("http://127.0.0.1:8000.evil.example", "http://evil.example#127.0.0.1:8000", ""):
        assert "Origin" in gate.refusal("127.0.0.1:8000", origin, is_socket=False)
    assert gate.refusal("LOCALHOST:8000", "http://LocalHost:8000", is_socket=True) == ""


def test_a_token_has_one_role() -> None:
    types, watches = token(), token()
    gate = Gate(frozenset(), {types: Role.TYPES, watches: Role.WATCHES})
    assert gate.role(types) is Role.TYPES
    assert gate.role(watches) is Role.WATCHES
    wrong = ("", types[:-1], types + "x", types.swapcase(), "\ud800", "\xe4", types + watches)
    assert not any(gate.role(each) for each in wrong)


def test_addresses_to_listen_at() -> None:
    assert [is_any(each) for each in ("0.0.0.0", "::", "", "127.0.0.1", "lab")] == [
        True, True, True, False, False,
    ]  # fmt: skip
    assert [is_loopback(each) for each in ("127.0.0.9", "::1", "localhost", "lab", "0.0.0.0")] == [
        True, True, True, False, False,
    ]  # fmt: skip
