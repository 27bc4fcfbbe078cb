"""One command of a session as a call of C, for `show c`."""

from rdmalab.export.c.calls import begin, end
from rdmalab.export.c.text import TAB, Text, Writer
from rdmalab.export.replay.calls import Call, NotExportable, Replay
from rdmalab.session.session import Session

_INDENT = "    "


def call_in_c(session: Session, number: int) -> list[str]:
    """The lines of the entry of this number in the journal; NotExportable says why C has none.

    The calls before it are written, too, because its variables depend on them.
    """
    replay, writing = Replay(session), _Writing()
    try:
        for call in replay.calls():
            is_wanted = call.entry == number
            try:
                lines = writing.lines(call)
            except NotExportable:
                if is_wanted:
                    raise
                continue
            if is_wanted and call.outcome is not None:
                return [line.replace(TAB, _INDENT) for line in lines]
    finally:
        replay.end()
    return []


class _Writing:
    """Calls that are written one after the other; one that C has not is left out."""

    def __init__(self) -> None:
        self.writer = Writer()
        self.begun: Call | None = None  # the call whose text is kept
        self.text: Text | None = None

    def lines(self, call: Call) -> list[str]:
        """Nothing before the call is carried out, its lines afterwards."""
        if call.outcome is None:
            self.begun = None
            self.text = begin(self.writer, call)
            self.begun = call
        return [] if self.begun is not call else self._finished(call)

    def _finished(self, call: Call) -> list[str]:
        return [] if call.outcome is None else end(self.writer, call, self.text)
