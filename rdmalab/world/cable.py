"""The cable: latency, rate and faults."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rdmalab.wire.frame import Frame
from rdmalab.wire.packet import Packet, wire_length

if TYPE_CHECKING:
    from rdmalab.world.faults import Fault
    from rdmalab.world.transit import Transit

LATENCY_NS = 1_000
RATE_BPS = 100_000_000_000
MTU_BYTES = 4096
LINK_DOWN = "the link is down"
"""The reason of a loss while the cable carries nothing."""
_BYTE_NS = 8 * 1_000_000_000  # at one bit per second


@dataclass(slots=True, eq=False)
class Cable:
    """One full-duplex link between all nodes.

    latency_ns: one way. rate_bps: both ways. mtu: active_mtu of the ports, in bytes.
    """

    latency_ns: int
    rate_bps: int
    mtu: int
    up: bool = True
    faults: "list[Fault]" = field(default_factory=list)
    next_fault: int = 1

    def occupies_ns(self, packet: Packet) -> int:
        """Time that the packet keeps the sending port busy, in ns."""
        # Rounded up: a port is never free before the last bit has left.
        return -(wire_length(packet) * -_BYTE_NS // self.rate_bps)

    def frame_occupies_ns(self, frame: Frame) -> int:
        """Time that a frame keeps the sending port busy, in ns."""
        return -(len(frame.octets) * -_BYTE_NS // self.rate_bps)

    def carry(self, transit: "Transit") -> None:
        """Apply the faults to a packet; they write their effects into `transit`."""
        if not self.up:
            transit.lost = LINK_DOWN
            return
        # Every fault counts every packet, also those that another fault takes away.
        for fault in [fault for fault in self.faults if fault.match.hits(transit)]:
            if fault.watches or not transit.lost:
                fault.apply(transit)
        for fault in self.faults if not transit.lost else ():
            fault.passed_through(transit)
