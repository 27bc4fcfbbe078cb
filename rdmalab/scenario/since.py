"""From which record on a step is judged: its first, or where it arrived when it jumped in time."""

from rdmalab.session.branch import Place
from rdmalab.session.session import Session


class Since:
    """first_record: what the step has sent, and what its reader is shown, begins here.

    A moment that was jumped to has a past of its own, and nothing of that was done by the step:
    only what happens after the arrival was. Time that passes once more in the past does count.
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
        """A command is done. One that looked at other moments and came back changes nothing."""
        jumps, stand = self._session.history.jumps, self._stand
        if jumps != self._jumps and stand != self._stood:
            self.first_record = len(self._session.world.trace.records)
        self._jumps, self._stood = jumps, stand
