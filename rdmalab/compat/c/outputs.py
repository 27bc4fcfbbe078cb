"""Lines that programs print, each with the node of its program before it.

Each program prints to a pseudo-terminal: to a pipe the C library writes only when 4 KiB have come,
and of a program that hangs nothing would be seen. The bytes of a line stay as they are.
"""

import os
import select
import time
import tty
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import attrgetter
from types import MappingProxyType

from rdmalab.spec.row import dataclass

_CHUNK = 1 << 16
_REST = attrgetter("rest")
_PAUSE_S = 0.1  # a line without an end, as a question, is written after so long without more
# The kernel hands over what a program printed some time after its write, even after its exit.
# A process that it left behind may keep its terminal open for ever.
_END_S = 1.0
_COLOURS = (36, 33, 35, 32, 34)  # SGR: cyan, yellow, magenta, green, blue
_NAMES = {1: "stdout", 2: "stderr"}  # as Popen names them
Write = Callable[[int, bytes], int]


def labels(nodes: Sequence[str], *, colours: bool = False) -> list[bytes]:
    """Return `A | ` for each node in turn, with a number where a node has several programs."""
    names = [node if node.isalpha() else "" if node else "AB" for node in nodes]  # "": both
    count, so_far = Counter(names), Counter[str]()
    for number, name in enumerate(list(names)):
        so_far[name] += 1
        if count[name] > 1 or not name:
            names[number] = f"{name}{so_far[name]}"
    width = max(map(len, names), default=0)
    marks = [f"{name:{width}} |" for name in names]
    if colours:
        marks = [f"\x1b[{_COLOURS[n % len(_COLOURS)]}m{mark}\x1b[m" for n, mark in enumerate(marks)]
    return [f"{mark} ".encode() for mark in marks]


@dataclass(slots=True, eq=False)
class _Source:
    """One end of a pseudo-terminal. to: the descriptor of this process. rest: an unended line."""

    reading: int
    label: bytes
    to: int
    rest: bytes = b""
    heard_s: float = 0.0


class Outputs:
    """The outputs of programs, by the order of their labels; sources: what is still read."""

    def __init__(
        self, given: Sequence[bytes] = (), streams: Mapping[int, int] = MappingProxyType({}),
        write: Write = os.write,
    ) -> None:  # fmt: skip
        """Take these streams; the others are those of this process, and so are all by default.

        given: a label for each program; none: no line has one. streams: descriptor of a program →
        the one to which its lines are written, as 2 → 1. write: as os.write.
        """
        self._labels, self._streams, self._write = given, streams, write
        self._poll = select.epoll()
        self.descriptor = self._poll.fileno()  # is readable when a program has printed
        self.sources: list[_Source] = []
        self._open: dict[int, _Source | None] = {}  # whose line has no end yet, by descriptor

    def show_by(self, write: Write) -> None:
        """Let this function get both streams of each program, as those of descriptor 1."""
        self._streams, self._write = {1: 1, 2: 1}, write

    @contextmanager
    def opened(self, number: int) -> Iterator[dict[str, int]]:
        """Yield the arguments of Popen for a program, which may be started within."""
        slaves: dict[int, int] = {}
        label = self._labels[number] if self._labels else b""
        try:
            for to in {*self._streams.values()}:
                reading, slaves[to] = os.openpty()
                tty.setraw(slaves[to])
                os.set_blocking(reading, False)
                self._poll.register(reading, select.EPOLLIN)
                self.sources.append(_Source(reading, label, to))
            yield {_NAMES[each]: slaves[to] for each, to in self._streams.items()}
        finally:
            for slave in slaves.values():
                os.close(slave)

    def wait(self, most_s: float) -> None:
        """Wait until a program prints, at most for so many seconds."""
        self._poll.poll(most_s)

    def _has_news(self) -> bool:
        return bool(self.sources) and bool(self._poll.poll(0))

    def copy(self, *, is_end: bool = False) -> None:
        """Write what programs have printed since the last call. is_end: nothing comes after it."""
        if not self.sources or not (is_end or any(map(_REST, self.sources)) or self._has_news()):
            return
        now_s = time.monotonic()
        for source in list(self.sources):
            octets, is_over = _read(source.reading)
            source.heard_s = now_s if octets else source.heard_s
            *lines, source.rest = (source.rest + octets).split(b"\n")
            for line in lines:
                self._write_part(source, line + b"\n")
            is_over = is_over or is_end
            if source.rest and (is_over or now_s - source.heard_s > _PAUSE_S):
                self._write_part(source, source.rest)
                source.rest = b""
            if is_over:
                self.sources.remove(source)
                os.close(source.reading)

    def close(self) -> None:
        """Write the rest, when all who could print have ended; a line without an end gets none."""
        until_s = time.monotonic() + _END_S
        while self.sources and (left_s := until_s - time.monotonic()) > 0:
            self.wait(left_s)
            self.copy()
        self.copy(is_end=True)
        self._poll.close()

    def _write_part(self, source: _Source, text: bytes) -> None:
        """Write a line, or a part of it, which another program's line may have to wait for."""
        unended = self._open.get(source.to)
        if unended is not source:
            text = (b"\n" if unended is not None else b"") + source.label + text
        self._open[source.to] = None if text.endswith(b"\n") else source
        while text:
            text = text[self._write(source.to, text) :]


def _read(reading: int) -> tuple[bytes, bool]:
    """All that is there now; whether all who could print there have ended."""
    parts = []
    try:
        while part := os.read(reading, _CHUNK):
            parts.append(part)
    except BlockingIOError:
        return b"".join(parts), False
    except OSError:  # EIO
        pass
    return b"".join(parts), True
