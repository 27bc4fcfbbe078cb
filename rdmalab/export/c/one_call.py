"""One command of a session as a call of C, for `show c`."""

from collections.abc import Iterator
from contextlib import contextmanager

from rdmalab.export.c.calls import CALLS
from rdmalab.export.c.text import TAB, Text, Writer
from rdmalab.export.replay.calls import Call, NotExportable, Replay
from rdmalab.session.session import Session

_INDENT = "    "


def call_in_c(session: Session, number: int) -> list[str]:
    """The lines of the entry of this number in the journal; NotExportable says why C has none.

    The calls before it are written, too, because its variables depend on them.
    """
    writing = _Writing(number)
    replay = Replay(session, writing)
    try:
        replay.until(number + 1)
    finally:
        replay.end()
    if writing.wrong is not None:
        raise writing.wrong
    return [line.replace(TAB, _INDENT) for line in writing.lines]


class _Writing:
    """A scribe that keeps the lines of one entry, and leaves out what C has not."""

    def __init__(self, wanted: int) -> None:
        self.wanted = wanted
        self.writer = Writer()
        self.begun: Call | None = None  # the call whose text is kept
        self.text: Text | None = None
        self.lines: list[str] = []
        self.wrong: NotExportable | None = None

    def wait(self, passed_ns: int, events: int, entry: int | None) -> list[str]:
        """Nothing: time is no call."""
        del passed_ns, events, entry
        return []

    def begin(self, call: Call) -> None:
        """Keep the text of a call."""
        self.begun = None
        with self._kept(call):
            self.text = CALLS.begin(self.writer, call)
            self.begun = call

    def end(self, call: Call) -> list[str]:
        """Keep its lines if it is the one that is wanted."""
        if self.begun is call:
            with self._kept(call):
                lines = CALLS.end(self.writer, call, self.text)
                if call.entry == self.wanted:
                    self.lines = lines
        return []

    @contextmanager
    def _kept(self, call: Call) -> Iterator[None]:
        try:
            yield
        except NotExportable as wrong:
            if call.entry == self.wanted:
                self.wrong = wrong
