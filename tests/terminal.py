"""A terminal to test against: a program under a pty, with pyte as its screen."""

from __future__ import annotations

import fcntl
import os
import re
import select
import struct
import subprocess
import sys
import termios
import time
from typing import TYPE_CHECKING, Self

import pyte

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType

# Generous: a loaded machine is slow, and a test that waits for a condition ends when it holds.
PATIENCE_S = 60.0

# Becomes a session leader with the pty as its terminal, so that signals arrive as in a real one:
# also where the tests themselves run in the background of a shell, which ignores SIGINT there.
_LOGIN = """
import os, signal, sys
os.login_tty(0)
signal.signal(signal.SIGINT, signal.SIG_DFL)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
os.execvp(sys.argv[1], sys.argv[1:])
"""

# Questions and modes that pyte would print as text, and an escape sequence cut by a read.
_UNSPOKEN = re.compile(
    rb"\x1b\[\?[0-9;]*\$p|\x1b\[[<>=][0-9;]*[a-zA-Z]|\x1b[P_\]].*?(?:\x07|\x1b\\)"
)
_CUT_OFF = re.compile(rb"\x1b(?:\[[0-9;?<>=$]*|[P_\]][^\x07\x1b]*)?\Z")


class Terminal:
    def __init__(
        self,
        argv: Sequence[str],
        *,
        columns: int = 100,
        rows: int = 30,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
    ) -> None:
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self._cut_off = b""
        self.raw = b""
        self._master, slave = os.openpty()
        self._set_size(columns, rows)
        self.child = subprocess.Popen(
            [sys.executable, "-c", _LOGIN, *argv],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=_environment(env or {}),
            cwd=cwd,
        )
        os.close(slave)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def send(self, keys: bytes) -> None:
        os.write(self._master, keys)

    def screen(self) -> list[str]:
        self._read(0)
        return list(self._screen.display)

    def rest(self, seconds: float = 0.5) -> None:
        """Wait so long, and read what the program writes; nothing is drawn meanwhile."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self._read(left)

    def wait_for(self, text: str, timeout: float = PATIENCE_S) -> list[str]:
        return self.wait_until(lambda lines: any(text in line for line in lines), timeout, text)

    def wait_until(
        self,
        holds: Callable[[list[str]], bool],
        timeout: float = PATIENCE_S,
        wanted: str = "the condition",
    ) -> list[str]:
        deadline = time.monotonic() + timeout
        while not holds(lines := self.screen()):
            if time.monotonic() > deadline:
                raise AssertionError(f"no {wanted!r} after {timeout} s on:\n" + "\n".join(lines))
            self._read(0.05)
        return lines

    def wait_exit(self, timeout: float = PATIENCE_S) -> int:
        deadline = time.monotonic() + timeout
        while self.child.poll() is None and time.monotonic() < deadline:
            self._read(0.02)  # a child that nobody reads from cannot finish
        return self.child.wait(timeout=0.1)

    def resize(self, columns: int, rows: int) -> None:
        """The kernel sends SIGWINCH to the child, as it does for a real terminal."""
        self._screen.resize(rows, columns)
        self._set_size(columns, rows)

    def close(self) -> None:
        """Ends the child that this terminal has started, and no other."""
        if self.child.poll() is None:
            self.child.terminate()
            try:
                self.child.wait(timeout=5)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait()
        if self._master >= 0:
            os.close(self._master)
            self._master = -1

    def _set_size(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def _read(self, timeout: float) -> None:
        while select.select([self._master], [], [], timeout)[0]:
            try:
                received = os.read(self._master, 65536)
            except OSError:  # Linux says so when the child has closed its end
                time.sleep(timeout)
                return
            self.raw += received
            self._feed(received)
            timeout = 0

    def _feed(self, received: bytes) -> None:
        text = self._cut_off + received
        cut = _CUT_OFF.search(text)
        self._cut_off = cut[0] if cut else b""
        self._stream.feed(_UNSPOKEN.sub(b"", text.removesuffix(self._cut_off)))


# What a test runner may have set, and what a terminal says itself.
_OURS = ("NO_COLOR", "COLUMNS", "LINES")


def _environment(more: Mapping[str, str]) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if name not in _OURS}
    return {
        **inherited,
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "LC_ALL": "C.UTF-8",
        **more,
    }
