"""The trace: everything that happened, in order; written through one door, read by all."""

from typing import Any

from rdmalab.spec.records import Kind, Record


class Trace:
    """The records, and the moment at which the next one will be written.

    event: number of the event under way; at_ns: virtual time; cause: number of the record that
    scheduled the event, -1 for a command.
    """

    __slots__ = ("at_ns", "cause", "event", "records")

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.event = -1
        self.at_ns = 0
        self.cause = -1

    def record(self, kind: Kind, node: str, object_: int, a: Any = None, b: Any = None) -> None:
        """The one door."""
        self.records.append((self.event, self.at_ns, self.cause, kind, node, object_, a, b))

    @property
    def latest(self) -> int:
        """Number of the newest record; -1 before the first."""
        return len(self.records) - 1


class Silence(Trace):
    """A trace that keeps the time and writes nothing: what logging costs is measured against it."""

    __slots__ = ()

    def record(self, kind: Kind, node: str, object_: int, a: Any = None, b: Any = None) -> None:
        """Forget it."""
