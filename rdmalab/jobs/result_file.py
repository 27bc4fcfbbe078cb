"""Results kept line by line, and progress as it is printed.

A process that is killed loses no result, and the next one goes on. Progress is one line that
changes at a terminal, else a line every ten seconds.
"""

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self, TextIO

from rdmalab import disk

Row = Mapping[str, object]
KEY = "key"
MOST = 1 << 30
"""The largest size of such a file, in bytes."""


class NotResults(ValueError):  # noqa: N818
    """The file holds something else."""


def known(path: str) -> dict[str, dict[str, object]]:
    """The results in a file by their keys; none if there is no such file.

    Raises NotResults, and OSError if the file cannot be read.
    """
    if not Path(path).exists():
        return {}
    found: dict[str, dict[str, object]] = {}
    for line in disk.read(path, MOST).split(b"\n")[:-1]:
        try:
            row = json.loads(line)
            found[str(row[KEY])] = row
        except (ValueError, KeyError, TypeError):
            raise NotResults(f"{path} is no list of results; choose another name") from None
    return found


def line_of(row: Row) -> bytes:
    """The line of a result."""
    return json.dumps(row, ensure_ascii=False).encode() + b"\n"


class ResultFile:
    """A file of results, open for more of them."""

    def __init__(self, path: str) -> None:
        """Open or create the file, after `known` has accepted it; raises OSError."""
        if not Path(path).exists():
            disk.write(path, b"", lambda _: False)
        self._stream: BinaryIO = disk.opened(path, updates=True)
        whole = self._stream.read(MOST)
        end = whole.rfind(b"\n") + 1
        self._stream.seek(end)
        self._stream.truncate()

    def add(self, row: Row) -> None:
        """Append a result, which has a `key`; it is on the disk when this returns."""
        self._stream.write(line_of(row))
        self._stream.flush()
        os.fsync(self._stream.fileno())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self._stream.close()


_AT_TERMINAL_S = 0.1
_ELSEWHERE_S = 10.0


class Progress:
    """`37/120 points, 12/s, 7 s left`; nothing for work that takes less than a second."""

    def __init__(self, stream: TextIO, total: int, noun: str, done: int = 0) -> None:
        """noun: plural, what is counted. done: how many were known before."""
        self.stream = stream
        self.total = total
        self.noun = noun
        self.done = self.known = done
        self.remark = ""
        self.at_terminal = stream.isatty()
        self.start = time.monotonic()
        self._shown = self.start + (1 - _AT_TERMINAL_S if self.at_terminal else 0)
        self._width = 0

    @property
    def _pause(self) -> float:
        return _AT_TERMINAL_S if self.at_terminal else _ELSEWHERE_S

    def advance(self, remark: str = "") -> None:
        """Count one more. remark: what is worth knowing so far, `2 cut`."""
        self.done += 1
        self.remark = remark
        now = time.monotonic()
        if now - self._shown >= self._pause and self.done < self.total:
            self._shown = now
            self._show(self.text(now - self.start))

    def text(self, elapsed_s: float) -> str:
        """The line after so many seconds."""
        rate = (self.done - self.known) / elapsed_s if elapsed_s > 0 else 0.0
        left = f", {(self.total - self.done) / rate:.0f} s left" if rate else ""
        remark = f", {self.remark}" if self.remark else ""
        return f"{self.done}/{self.total} {self.noun}{remark}, {rate:.3g}/s{left}"

    def end(self) -> None:
        """Remove the line from a terminal."""
        if self._width:
            self.stream.write("\r" + " " * self._width + "\r")
            self.stream.flush()
            self._width = 0

    def _show(self, text: str) -> None:
        if self.at_terminal:
            self.stream.write("\r" + text.ljust(self._width))
            self._width = len(text)
        else:
            self.stream.write(text + "\n")
        self.stream.flush()
