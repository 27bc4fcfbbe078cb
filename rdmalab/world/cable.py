"""The cable: latency, rate, and whatever the faults decide."""

from rdmalab.wire.packet import Packet, wire_length
from rdmalab.wire.roce import Malformed, decode, encode
from rdmalab.world.faults import Fault

_BITS = 8
_NS_PER_S = 1_000_000_000


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
        return -(-wire_length(packet) * _BITS * _NS_PER_S // self.rate_bps)

    def fate(self, source: str, target: str, packet: Packet) -> Packet | Malformed | str:
        """What arrives: the packet, a changed one, bytes that are no packet, or why nothing does."""
        if not self.up:
            return "the link is down"
        for fault in self.faults:
            if not fault.match.hits(source, target, packet):
                continue
            if reason := fault.loses():
                return reason
            try:
                packet = decode(fault.harms(encode(packet)))
            except Malformed as malformed:
                return malformed
        return packet
