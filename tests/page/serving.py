"""Static files over HTTP on this machine, as any host serves them; it can be stopped."""

from __future__ import annotations

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from pathlib import Path


class _Quiet(SimpleHTTPRequestHandler):
    """Notes the requests instead of printing them."""

    def log_message(self, *_given: object) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        assert isinstance(self.server, Site)
        self.server.paths.append(self.path)
        super().do_GET()

    def end_headers(self) -> None:
        """Without it the browser's own cache stands in for the service worker."""
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()


class Site(ThreadingHTTPServer):
    """paths: of all requests."""

    daemon_threads = True

    def __init__(self, folder: Path, port: int = 0) -> None:
        self.paths: list[str] = []
        self.folder = folder
        super().__init__(("127.0.0.1", port), partial(_Quiet, directory=str(folder)))
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()

    @property
    def address(self) -> str:
        """Of the folder, with a slash at the end."""
        return f"http://127.0.0.1:{self.server_port}/"

    def stop(self) -> None:
        """Answer no more; the second time does nothing."""
        if not self._thread.is_alive():
            return
        self.shutdown()
        self.server_close()
        self._thread.join()

    def __exit__(self, *_given: object) -> None:
        self.stop()

    def __enter__(self) -> Self:
        return self
