"""One packet on the cable, and the effects of faults on it."""

from dataclasses import field

from rdmalab.spec.limits import LinkLayer
from rdmalab.spec.row import dataclass
from rdmalab.wire.frame import Frame, octets_of
from rdmalab.wire.headers import Ethernet
from rdmalab.wire.links import decode, link_layer_of
from rdmalab.wire.packet import Packet
from rdmalab.wire.roce import Malformed

_MAC = Ethernet.field("src").offset // 8  # bytes of the destination MAC, the first field


@dataclass(slots=True)
class Injection:
    """Bytes put on the cable by `inject`, and the node that they go to."""

    target: str
    octets: bytes


@dataclass(slots=True)
class HeldPacket:
    """A held packet. behind: how many packets must still pass it; the rest as in Transit."""

    source: str
    target: str
    packet: Packet | Frame
    sender: int
    sent: int
    behind: int


@dataclass(slots=True)
class Transit:
    """From one node to one other; of a multicast there is one for each that it goes to.

    sender: number of the QP that sent it. left_ns: when its first bit left; busy_ns: how long
    it keeps the port busy. sent: the record that sent it. What faults write here:
    lost: why it never arrives. frame: its bytes once a fault has changed them; corrupted, marked:
    how it changed them.
    late_ns: how much later than else it arrives; held_ns: how much more, unless it is released;
    held_by: numbers of the faults that hold it.
    copies_after_ns: how long after it each of its copies arrives. released: packets that were held
    until this one had passed them. accidents: numbers of those that it sets off.
    """

    source: str
    target: str
    packet: Packet | Frame
    sender: int = 0
    left_ns: int = 0
    busy_ns: int = 0
    sent: int = -1
    lost: str = ""
    frame: bytes = b""
    corrupted: bool = False
    marked: bool = False
    late_ns: int = 0
    held_ns: int = 0
    held_by: list[int] = field(default_factory=list)
    copies_after_ns: list[int] = field(default_factory=list)
    released: list[HeldPacket] = field(default_factory=list)
    accidents: list[int] = field(default_factory=list)

    @property
    def octets(self) -> bytes:
        """The bytes as they are now."""
        return self.frame or octets_of(self.packet)

    def read(self) -> Packet | Malformed:
        """The packet that a port decodes from the bytes."""
        assert isinstance(self.packet, Packet)
        link_layer = link_layer_of(self.packet)
        # A NIC takes frames for its own MAC only, and reads no header of others.
        if link_layer is LinkLayer.ETHERNET and self.octets[:_MAC] != octets_of(self.packet)[:_MAC]:
            return Malformed("mac")
        try:
            return decode(self.octets, link_layer)
        except Malformed as malformed:
            return malformed
