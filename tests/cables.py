"""A cable that does to each packet what a test has planned."""

from collections.abc import Iterator

from rdmalab.wire.frame import Frame
from rdmalab.wire.packet import Packet
from rdmalab.world.agenda import Door
from rdmalab.world.cable import Cable, Harmed
from rdmalab.world.faults import Drop, Match
from rdmalab.world.world import LATENCY_NS, MTU_BYTES, RATE_BPS, World

Delays = list[int]  # ns, one a copy that arrives; none if the packet is lost


class Wild(Cable):
    """Loses, duplicates and reorders; packets without a plan arrive once and in time."""

    def __init__(self, world: World, fates: Iterator[Delays]) -> None:
        super().__init__(LATENCY_NS, RATE_BPS, MTU_BYTES)
        self.world = world
        self.fates = fates
        self.faults = [Drop(0, Match(source="nobody"))]  # or the world would not ask for fates

    def fate(
        self, source: str, target: str, packet: Packet | Frame
    ) -> Packet | Frame | Harmed | str:
        delays = next(self.fates, [0])
        if not delays:
            return "wild"
        for delay_ns in delays[1:]:
            at_ns = self.world.now_ns + LATENCY_NS + delay_ns
            self.world.agenda.file(at_ns, Door.ARRIVAL, target, packet, self.world.trace.latest)
        self.latency_ns = LATENCY_NS + delays[0]
        return packet
