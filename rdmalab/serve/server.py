"""The server: pages below a token, connections to processes of the app. Nothing else is served."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import secrets
import signal
import sys
from enum import Enum
from importlib.resources import files
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from aiohttp import WSMsgType, web
from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager

from rdmalab.spec.row import dataclass

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import Awaitable, Callable


_PROGRAM = "from rdmalab.serve.piped_app import main; raise SystemExit(main())"
# A page that comes later missed the start: alternate screen, no cursor, mouse, pastes.
_MODES = b"\x1b[?1049h\x1b[?25l\x1b[?1000h\x1b[?1003h\x1b[?1006h\x1b[?2004h"
_WAITING_MOST = 2000  # messages that a page has not taken yet; it is closed then
_LEAVE_S = 5.0  # so long an app may take to end


class Viewer:
    """A page that shows the app; a slow one delays no other."""

    def __init__(self, socket: web.WebSocketResponse) -> None:
        self._socket = socket
        self._waiting: asyncio.Queue[bytes] = asyncio.Queue(_WAITING_MOST)
        self._task = asyncio.create_task(self._send())

    async def _send(self) -> None:
        with contextlib.suppress(ConnectionError):
            while True:
                await self._socket.send_bytes(await self._waiting.get())

    def show(self, octets: bytes) -> None:
        """Send a part of a frame; a page that does not keep up is closed."""
        try:
            self._waiting.put_nowait(octets)
        except asyncio.QueueFull:
            self._close_task = asyncio.create_task(self.close())

    async def close(self) -> None:
        """Send no more, and close the connection."""
        self._task.cancel()
        await self._socket.close()


class AppProcess(AppService):
    """size: columns and rows. The process lives until `end`; pages come and go."""

    def __init__(self, size: tuple[int, int]) -> None:
        super().__init__(
            _PROGRAM, write_bytes=self._show, write_str=self._ignore, close=self._ended,
            download_manager=DownloadManager(),
        )  # fmt: skip
        self.size = size
        self.viewers: set[Viewer] = set()
        self.is_over = False

    async def _open_app_process(self, width: int = 80, height: int = 24) -> Process:
        """Without a shell, and without modules of the working directory."""
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-c", self.command,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE, env=self._build_environment(width, height),
            start_new_session=True,  # ^C in the terminal of the server is not one for the app
        )  # fmt: skip
        self._stdin = self._process.stdin
        return self._process

    def _build_environment(self, width: int = 80, height: int = 24) -> dict[str, str]:
        """The page has all colours, whatever the terminal of the server has."""
        return super()._build_environment(width, height) | {"COLORTERM": "truecolor"}

    async def begin(self) -> None:
        """Start the process."""
        await self.start(*self.size)

    async def add(self, viewer: Viewer) -> None:
        """Show the app on one page more, from its first frame or from the one that it has now."""
        viewer.show(_MODES)
        self.viewers.add(viewer)
        width, height = self.size
        await self.set_terminal_size(width, height)  # it draws all rows again

    async def end(self) -> None:
        """End the app as by quit, or at once if it does not end."""
        if (process := self._process) is None:
            return
        try:
            await asyncio.wait_for(self.stop(), _LEAVE_S)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        await process.wait()
        await self._ended()

    # ---- what the process says ------------------------------------------------------------------

    async def _show(self, octets: bytes) -> None:
        for viewer in self.viewers:
            viewer.show(octets)

    async def _ignore(self, _text: str) -> None:
        """Downloads and links: this server has no address for them."""

    async def _ended(self) -> None:
        self.is_over = True
        viewers, self.viewers = self.viewers, set()
        for viewer in viewers:
            await viewer.close()


_TOKEN_OCTETS = 24
_HTTP = 80  # a port that browsers leave out


class Role(Enum):
    """Rights of a visitor."""

    TYPES = "types"
    WATCHES = "watches"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address to listen at."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def is_any(host: str) -> bool:
    """Whether an address to listen at stands for all of this machine."""
    try:
        return ip_address(host).is_unspecified
    except ValueError:
        return not host


def hosts_of(listens_at: str, port: int, names: tuple[str, ...]) -> frozenset[str]:
    """Names that a browser may write as Host. names: further ones, such as that of a proxy."""
    own = [] if is_any(listens_at) else [f"[{listens_at}]" if ":" in listens_at else listens_at]
    if is_any(listens_at) or is_loopback(listens_at):
        own += ["127.0.0.1", "localhost", "[::1]"]
    found = [f"{name}:{port}" for name in (*own, *names)] + list(names)
    found += own if port == _HTTP else []
    return frozenset(name.lower() for name in found)


@dataclass(frozen=True, slots=True)
class Gate:
    """hosts: as `hosts_of` finds them. tokens: what the bearer of each may do.

    A page of another host that a visitor has open cannot use the visitor's browser: it has another
    Origin; and one whose name leads to this machine has another Host.
    """

    hosts: frozenset[str]
    tokens: dict[str, Role]

    def refusal(self, host: str | None, origin: str | None, *, is_socket: bool) -> str:
        """The reason to refuse a request, or empty. is_socket: it opens a connection."""
        if (host or "").lower() not in self.hosts:
            return "the Host of the request is not a name of this server: --name adds one"
        if origin is None:
            return "a connection without an Origin" if is_socket else ""
        if urlsplit(origin).netloc.lower() not in self.hosts:
            return "the Origin of the request is another host"
        return ""

    def role(self, token: str) -> Role | None:
        """Rights of the bearer of a token; None if the token is none of ours."""
        found = None
        for known, role in self.tokens.items():
            if hmac.compare_digest(known.encode(), token.encode("utf-8", "replace")):
                found = role
        return found


def token() -> str:
    """A new token, of 192 random bits."""
    return secrets.token_urlsafe(_TOKEN_OCTETS)


if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

# textual-serve's own page asks another host for a font, and hands a request's text to a template.
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><title>rdmalab</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<link rel="stylesheet" href="static/css/xterm.css">
<style>
html, body { height: 100%; margin: 0; background: #0e1420; color: #e8edf7; }
#terminal { height: 100%; }
#closed { display: none; font: 16px sans-serif; padding: 24px; }
body.-closed #closed { display: block; } body.-closed #terminal { display: none; }
</style>
<script src="page.js"></script>
<script src="static/js/textual.js"></script>
</head>
<body>
<p id="closed">The connection has ended. Load the page again, then type continue.</p>
<div id="terminal" class="textual-terminal" data-font-size="16"></div>
</body>
</html>
"""
# Before textual.js looks at the page. A fixed size: letters so large that it fits into the window.
_SCRIPT = """addEventListener("DOMContentLoaded", () => {
  const { columns, rows } = SIZE, terminal = document.getElementById("terminal");
  terminal.dataset.sessionWebsocketUrl = new URL("ws", location.href).href.replace(/^http/, "ws");
  if (columns) {
    const fits = Math.min(innerWidth / columns / 0.61, innerHeight / rows / 1.2);
    terminal.dataset.fontSize = Math.max(6, Math.floor(fits));
  }
});
"""
_POLICY = "; ".join(
    (
        "default-src 'none'", "script-src 'self'", "connect-src 'self'", "img-src 'self' data:",
        "style-src 'self' 'unsafe-inline'", "font-src 'self'", "frame-ancestors 'none'",
        "base-uri 'none'", "form-action 'none'",
    )
)  # fmt: skip
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Referrer-Policy": "no-referrer",  # the address has the token
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
_STATICS = {"js/textual.js": "text/javascript", "css/xterm.css": "text/css"}
_TEXT_MOST = 1 << 20  # bytes of a message of a page
_SIZE_MOST = 500  # columns or rows
_SENSELESS = (ValueError, TypeError, LookupError, AttributeError, RecursionError)
_HEARTBEAT_S = 15  # a visitor that does not answer has vanished


@dataclass(frozen=True, slots=True)
class Served:
    """Options of a server. host: the address to listen at; port 0: any free one.

    names: further names of this server. visitors_most: how many connections at once. shared: all
    pages show one app, which has this size, and only the bearer of a token of its own can type.
    """

    host: str
    port: int
    names: tuple[str, ...] = ()
    visitors_most: int = 8
    shared: tuple[int, int] | None = None


class Server:
    """Between `start` and `stop` it answers; addresses: what each role opens."""

    def __init__(self, served: Served) -> None:
        self.served = served
        self.addresses: dict[Role, str] = {}
        self._visitors = 0
        self._processes: set[AppProcess] = set()
        self._common: AppProcess | None = None
        self._lock = asyncio.Lock()
        self._gate = Gate(frozenset(), {})
        app = web.Application(middlewares=[self._guarded], client_max_size=_TEXT_MOST)
        app.add_routes([
            web.get("/{token}/", self._page),
            web.get("/{token}/page.js", self._script),
            web.get("/{token}/static/{name:.+}", self._static),
            web.get("/{token}/ws", self._socket),
        ])  # fmt: skip
        self._runner = web.AppRunner(app, access_log=None)

    async def start(self) -> None:
        """Listen; OSError if the address is taken or none of this machine."""
        served = self.served
        await self._runner.setup()
        await web.TCPSite(self._runner, served.host, served.port).start()
        port = int(self._runner.addresses[0][1])
        roles = (Role.TYPES,) if served.shared is None else (Role.TYPES, Role.WATCHES)
        tokens = {token(): role for role in roles}
        self._gate = Gate(hosts_of(served.host, port, served.names), tokens)
        name = served.names[0] if served.names else served.host
        host = f"[{name}]" if ":" in name else name
        for each, role in tokens.items():
            self.addresses[role] = f"http://{host}:{port}/{each}/"

    async def stop(self) -> None:
        """End all processes and close all connections."""
        await asyncio.gather(*(process.end() for process in list(self._processes)))
        await self._runner.cleanup()

    # ---- requests -------------------------------------------------------------------------------

    @web.middleware
    async def _guarded(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        is_socket = request.path.endswith("/ws")
        refusal = self._gate.refusal(
            request.headers.get("Host"), request.headers.get("Origin"), is_socket=is_socket
        )
        if refusal:
            return web.Response(status=403, text=f"{refusal}\n", headers=_HEADERS)
        if self._role(request) is None:
            message = "the address needs the token that the server has printed\n"
            return web.Response(status=403, text=message, headers=_HEADERS)
        return await handler(request)

    def _role(self, request: web.Request) -> Role | None:
        return self._gate.role(request.path.split("/")[1])

    async def _page(self, _request: web.Request) -> web.Response:
        return web.Response(text=_PAGE, content_type="text/html", headers=_HEADERS)

    async def _script(self, _request: web.Request) -> web.Response:
        columns, rows = self.served.shared or (0, 0)
        text = _SCRIPT.replace("SIZE", json.dumps({"columns": columns, "rows": rows}))
        return web.Response(text=text, content_type="text/javascript", headers=_HEADERS)

    async def _static(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        if name not in _STATICS:
            raise web.HTTPNotFound
        octets = (files("textual_serve") / "static" / name).read_bytes()
        return web.Response(body=octets, content_type=_STATICS[name], headers=_HEADERS)

    async def _socket(self, request: web.Request) -> web.StreamResponse:
        if self._visitors >= self.served.visitors_most:
            message = f"this server admits {self._visitors} visitors, and so many are there\n"
            return web.Response(status=503, text=message, headers=_HEADERS)
        self._visitors += 1
        try:
            return await self._visit(request)
        finally:
            self._visitors -= 1

    # ---- a visit --------------------------------------------------------------------------------

    async def _visit(self, request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse(heartbeat=_HEARTBEAT_S, max_msg_size=_TEXT_MOST)
        await socket.prepare(request)
        process = await self._process(request)
        viewer = Viewer(socket)
        await process.add(viewer)
        try:
            async for message in socket:
                if message.type is WSMsgType.TEXT and self._role(request) is Role.TYPES:
                    await self._heard(process, message.data)
        finally:
            process.viewers.discard(viewer)
            await viewer.close()
            if process is not self._common:
                await process.end()
                self._processes.discard(process)
        return socket

    async def _process(self, request: web.Request) -> AppProcess:
        """The app of all visitors, or a new one for this one."""
        if self.served.shared is None:
            width, height = (_number(request.query.get(name)) for name in ("width", "height"))
            return await self._begun((width or 80, height or 24))
        async with self._lock:
            if self._common is None or self._common.is_over:
                self._common = await self._begun(self.served.shared)
            return self._common

    async def _begun(self, size: tuple[int, int]) -> AppProcess:
        process = AppProcess(size)
        await process.begin()
        self._processes.add(process)
        return process

    async def _heard(self, process: AppProcess, text: str) -> None:
        """A message of the page: its kind, and what it has."""
        with contextlib.suppress(*_SENSELESS):
            kind, *given = json.loads(text)
            if kind == "stdin":
                await process.send_bytes(given[0].encode("utf-8", "replace"))
            elif kind == "resize" and process is not self._common:
                width, height = (_number(given[0][name]) for name in ("width", "height"))
                if width and height:
                    process.size = width, height
                    await process.set_terminal_size(width, height)
            elif kind in ("focus", "blur"):
                await (process.focus if kind == "focus" else process.blur)()


def _number(text: object) -> int:
    """Columns or rows; 0 for what is none."""
    try:
        found = int(str(text))
    except ValueError:
        return 0
    return found if 0 < found <= _SIZE_MOST else 0


async def serve(served: Served, tell: Callable[[dict[Role, str]], None]) -> None:
    """Serve until SIGINT or SIGTERM. tell: gets the addresses."""
    server, over = Server(served), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):
            asyncio.get_running_loop().add_signal_handler(number, over.set)
    await server.start()
    tell(server.addresses)
    try:
        await over.wait()
    finally:
        await server.stop()
