"""Legal values of address fields (`ah_attr`), and which calls of a device refuse other values.

A device that does not check a field cuts the value to the width of the packet field, or ignores it.
"""

from typing import NamedTuple


class AddressField(NamedTuple):
    """Legal values, as ranges from the first to the last number."""

    ranges: tuple[tuple[int, int], ...]

    def has(self, value: int) -> bool:
        """True if the value is legal."""
        return any(low <= value <= high for low, high in self.ranges)

    @property
    def last(self) -> int:
        """The largest legal value."""
        return self.ranges[-1][1]

    @property
    def takes(self) -> str:
        """The legal ranges as text: `0 2..23`."""
        return " ".join(str(a) if a == b else f"{a}..{b}" for a, b in self.ranges)


# sl and flow_label are as wide as in the LRH and the GRH (kernel ib_hdrs.h: IB_SL_MASK,
# IB_GRH_FLOW_MASK). static_rate is a code of enum ibv_rate: 0 is the rate of the port, 1 is no
# code, 23 is 800 Gbit/s.
ADDRESS: dict[str, AddressField] = {
    "flow_label": AddressField(((0, 0xFFFFF),)),
    "sl": AddressField(((0, 15),)),
    "static_rate": AddressField(((0, 0), (2, 23))),
}
EVERY_FIELD = frozenset(ADDRESS)
