"""One process of the app whose terminal is a pipe, and the pages that show it."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from typing import TYPE_CHECKING

from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager

if TYPE_CHECKING:
    from asyncio.subprocess import Process

    from aiohttp import web

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
