"""The interfaces of an adapter to the world around it: a trace, a network, an agenda."""

from typing import Protocol

from rdmalab.spec.records import Kind
from rdmalab.wire.frame import Frame
from rdmalab.wire.packet import Packet


class Recorder(Protocol):
    """The only way to write the trace."""

    def record(self, kind: Kind, node: str, obj: int, a: object = None, b: object = None) -> None:
        """Append a record to the current event."""


class Timer:
    """The one timer of a queue pair, which the world runs.

    at_ns: when it fires; None: not armed. sequence, cause: of the arming. filed_ns, filed: the time
    and sequence of its entry in the event queue.
    """

    __slots__ = ("at_ns", "cause", "filed", "filed_ns", "node", "qpn", "sequence")

    def __init__(self, node: str, qpn: int) -> None:
        self.node = node
        self.qpn = qpn
        self.at_ns: int | None = None
        self.sequence = 0
        self.cause = -1
        self.filed_ns: int | None = None
        self.filed = 0


class Network(Protocol):
    """The network as one adapter sees it."""

    def transmit(self, node: str, qpn: int, packet: Packet | Frame) -> int:
        """Put a packet or a frame on the cable now; the nanoseconds it keeps the port busy."""

    def has(self, gid: int) -> bool:
        """True if a port on the network has this address."""


class Agenda(Protocol):
    """The clock as one adapter sees it."""

    def file_port(self, node: str, at_ns: int) -> None:
        """Call `turn` of this node at `at_ns`."""

    def arm(self, timer: Timer, at_ns: int) -> None:
        """Call `timer` for its QP at `at_ns`; replaces an earlier arming."""

    def disarm(self, timer: Timer) -> None:
        """Stop the timer if it is armed."""
