"""Progress of many items: one line that changes at a terminal, else a line every ten seconds."""

import time
from typing import TextIO

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
