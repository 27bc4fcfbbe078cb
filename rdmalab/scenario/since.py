"""The first record of a step for its expectations: after a jump in time, the first one there."""

from rdmalab.session.branch import Place
from rdmalab.session.session import Session


class Since:
    """first_record: packets and rows of the step begin here.

    After a jump in time only events after the arrival belong to the step. A run in the past
    counts.
    """

    __slots__ = ("_jumps", "_session", "_stood", "first_record")

    def __init__(self, session: Session) -> None:
        self._session = session
        self.first_record = len(session.world.trace.records)
        self._jumps = session.history.jumps
        self._stood = self._stand

    @property
    def _stand(self) -> tuple[str, Place]:
        history = self._session.history
        return history.branch.name, history.here

    def notice(self) -> None:
        """Update after a command; one that only looked at other moments changes nothing."""
        jumps, stand = self._session.history.jumps, self._stand
        if jumps != self._jumps and stand != self._stood:
            self.first_record = len(self._session.world.trace.records)
        self._jumps, self._stood = jumps, stand
