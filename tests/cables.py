"""A cable that does to each packet what a test has planned."""

from collections.abc import Iterator

from rdmalab.world.faults import Drop, Match
from rdmalab.world.network import LATENCY_NS, MTU_BYTES, RATE_BPS, Cable
from rdmalab.world.transit import Transit

Delays = list[int]  # ns, one a copy that arrives; none if the packet is lost


class Wild(Cable):
    """Loses, duplicates and reorders; packets without a plan arrive once and in time."""

    def __init__(self, fates: Iterator[Delays]) -> None:
        super().__init__(LATENCY_NS, RATE_BPS, MTU_BYTES)
        self.fates = fates
        self.faults = [Drop(0, Match(source="nobody"))]  # or the world would not ask for fates

    def carry(self, transit: Transit) -> None:
        delays = next(self.fates, [0])
        if not delays:
            transit.lost = "wild"
            return
        transit.late_ns = min(delays)
        transit.copies_after_ns = [delay_ns - transit.late_ns for delay_ns in sorted(delays)[1:]]
