"""The programs of the host that have called, by the event of each call."""

from rdmalab.session.history import History


class Callers:
    """Those of the calls that were recorded, on the branch of the first of them."""

    def __init__(self, history: History) -> None:
        """Begin without any."""
        self._history = history
        self._branch = ""
        self._texts: dict[int, str] = {}

    def note(self, event: int, text: str) -> None:
        """A program has called in this event; text: which, and where in its source."""
        if not self._texts:
            self._branch = self._history.branch.name
        self._texts[event] = text

    def text_of(self, event: int) -> str:
        """The program that called in an event of this branch; empty: none, or it is not known."""
        text = self._texts.get(event, "")
        return text if text and self._history.is_event_of(self._branch, event) else ""
