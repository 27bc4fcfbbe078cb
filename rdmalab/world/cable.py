"""The cable: latency, rate, and whatever the faults decide."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rdmalab.wire.frame import Frame, octets_of
from rdmalab.wire.packet import Packet, wire_length
from rdmalab.wire.roce import Malformed, decode

if TYPE_CHECKING:
    from rdmalab.world.faults import Fault

_BYTE_NS = 8 * 1_000_000_000  # at one bit per second


@dataclass(slots=True)
class Harmed:
    """The bytes that arrive after a fault."""

    frame: bytes

    def read(self) -> Packet | Malformed:
        """What a port makes of them."""
        try:
            return decode(self.frame)
        except Malformed as malformed:
            return malformed


class Cable:
    """One full-duplex link between all nodes.

    latency_ns one way; rate_bps both ways; mtu: active_mtu of the ports, in bytes.
    """

    __slots__ = ("faults", "latency_ns", "mtu", "next_fault", "rate_bps", "up")

    def __init__(self, latency_ns: int, rate_bps: int, mtu: int) -> None:
        self.latency_ns = latency_ns
        self.rate_bps = rate_bps
        self.mtu = mtu
        self.up = True
        self.faults: list[Fault] = []
        self.next_fault = 1

    def occupies_ns(self, packet: Packet) -> int:
        """How long the packet keeps the sending port busy."""
        return -(wire_length(packet) * -_BYTE_NS // self.rate_bps)

    def frame_occupies_ns(self, frame: Frame) -> int:
        """The same for any other frame."""
        return -(len(frame.octets) * -_BYTE_NS // self.rate_bps)

    def fate(
        self, source: str, target: str, packet: Packet | Frame
    ) -> Packet | Frame | Harmed | str:
        """What arrives: the packet itself, harmed bytes, or why nothing does."""
        if not self.up:
            return "the link is down"
        frame = b""
        # Every fault counts every packet, also those that another fault takes away.
        for fault in [fault for fault in self.faults if fault.match.hits(source, target, packet)]:
            if reason := fault.loses():
                return reason
            frame = fault.harms(frame or octets_of(packet))
        return Harmed(frame) if frame else packet
