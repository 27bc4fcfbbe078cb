"""The newest packets and timers of a session, however many other records came after them.

A program that polls adds thousands of records a second, so that among a fixed number of the newest
records there is no packet soon. Rows that were read once are kept, and only later records are read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdmalab.views import ladder
from rdmalab.views.fates import Fate
from rdmalab.views.ladder import PacketRow

if TYPE_CHECKING:
    from rdmalab.session.session import Session
    from rdmalab.views.ladder import MarkerRow


class WireRows:
    """reach: records that are looked back where nothing is known, to avoid replays of the past."""

    def __init__(self, reach: int) -> None:
        self._reach = reach
        self._session: Session | None = None
        self._rows: list[PacketRow | MarkerRow] = []
        self._read = 0  # records up to this one are read
        self._cuts = 0
        self._asked = 0

    def newest(self, session: Session, last: int) -> list[PacketRow | MarkerRow]:
        """The newest `last` packets and timers that happened, the newest last."""
        trace = session.world.trace
        records = len(trace.records)
        self._discard(session, last)
        if self._read < trace.first:  # the session has jumped: what lies between is not known
            self._rows, self._read = [], self._begin(session)
        begin = self._reopened(session)
        known = [row for row in self._rows if row.number < begin]
        found = ladder.rows(session.world, session.names, last=last, since=begin)
        self._rows, self._read = [*known, *found][-last:], records
        return list(self._rows)

    def _discard(self, session: Session, last: int) -> None:
        """Discard rows of another session, and those after a moment to which the session went back.

        Where more rows are asked for than before, all are read again.
        """
        trace = session.world.trace
        if session is not self._session or last > self._asked:
            self._session, self._asked, self._cuts = session, last, len(trace.cuts)
            self._rows, self._read = [], self._begin(session)
        cuts, self._cuts = trace.cuts[self._cuts :], len(trace.cuts)
        if cuts:
            self._rows = [row for row in self._rows if row.number < min(cuts)]
            self._read = min(self._read, *cuts)
            if len(self._rows) < last:
                self._rows, self._read = [], min(self._read, self._begin(session))

    def _begin(self, session: Session) -> int:
        """The record from which rows are read first: the oldest in memory, or within the reach."""
        trace = session.world.trace
        return max(0, min(trace.first, len(trace.records) - self._reach))

    def _reopened(self, session: Session) -> int:
        """The record from which rows are read again: of the oldest packet without an end then."""
        event = session.world.event
        open_ = (
            row.number
            for row in self._rows
            if isinstance(row, PacketRow)
            and (row.fate is Fate.IN_FLIGHT or (row.end_event or 0) > event)
        )
        return min(open_, default=self._read)
