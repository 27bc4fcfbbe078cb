"""What an adapter asks of the world around it: a trace to write in, a cable, an alarm clock."""

from typing import Any, Protocol

from rdmalab.spec.records import Kind
from rdmalab.wire.frame import Frame
from rdmalab.wire.packet import Packet


class Recorder(Protocol):
    """The one door through which anything is logged."""

    def record(self, kind: Kind, node: str, object_: int, a: Any = None, b: Any = None) -> None:
        """Append a record to the current event."""


class Timer:
    """The one timer of a queue pair, which the clock outside winds.

    at_ns: when it fires; None: it is not armed. sequence, cause: of the arming. filed_ns, filed:
    where the clock will look at it next, and under which sequence.
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


class Environment(Protocol):
    """The world as one adapter sees it."""

    def transmit(self, node: str, qpn: int, packet: Packet | Frame) -> int:
        """Put a packet or a frame on the cable now; the nanoseconds it keeps the port busy."""

    def has(self, gid: int) -> bool:
        """Whether somebody on the network has this address."""

    def file_port(self, node: str, at_ns: int) -> None:
        """Call `port.turn` of this node at `at_ns`."""

    def arm(self, timer: Timer, at_ns: int) -> None:
        """Call `timer` for its QP at `at_ns`, instead of any earlier wish."""

    def disarm(self, timer: Timer) -> None:
        """Forget the wish, if there is one."""
