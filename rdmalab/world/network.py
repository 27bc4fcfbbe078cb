"""The network: the cable between the nodes, their addresses, and the way of each packet."""

from dataclasses import field, replace

from rdmalab.hca import port
from rdmalab.hca.device import Hca
from rdmalab.spec.limits import LinkLayer, PortState
from rdmalab.spec.records import Kind
from rdmalab.spec.row import dataclass
from rdmalab.wire.frame import Frame
from rdmalab.wire.headers import Ethernet
from rdmalab.wire.links import decode, is_infiniband
from rdmalab.wire.packet import Flow, LidFlow, Packet, is_multicast, wire_length
from rdmalab.wire.roce import Malformed
from rdmalab.world.event_queue import Door, EventQueue
from rdmalab.world.faults import Fault, TimedFault
from rdmalab.world.trace import Trace
from rdmalab.world.transit import HeldPacket, Injection, Transit

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
    faults: list[Fault] = field(default_factory=list)
    next_fault: int = 1

    def occupies_ns(self, packet: Packet) -> int:
        """Time that the packet keeps the sending port busy, in ns."""
        # Rounded up: a port is never free before the last bit has left.
        return -(wire_length(packet) * -_BYTE_NS // self.rate_bps)

    def frame_occupies_ns(self, frame: Frame) -> int:
        """Time that a frame keeps the sending port busy, in ns."""
        return -(len(frame.octets) * -_BYTE_NS // self.rate_bps)

    def carry(self, transit: Transit) -> None:
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


_ARRIVAL, _HOST = Door.ARRIVAL, Door.HOST
_ACTIVE = PortState.ACTIVE

_NOT_ACTIVE, _DOWN = "the port is not ACTIVE", "the port is down"
NO_ADDRESS = "no port has this address"
NO_LID = "no port has the LID"
NEVER_LEFT = (_NOT_ACTIVE, _DOWN)
"""Reasons of a packet that is lost before it is on the cable."""

# The packet that was sent, and why nothing can be read in the bytes that arrived.
Garbage = tuple[Packet | Frame, str]
Arrival = Packet | Frame | Garbage


class Network:
    """The cable, and which node has which address. A removed GID still leads to its node."""

    __slots__ = ("agenda", "cable", "node_of_gid", "node_of_lid", "nodes", "trace")

    def __init__(self, nodes: dict[str, Hca], trace: Trace, agenda: EventQueue) -> None:
        self.nodes = nodes
        self.trace = trace
        self.agenda = agenda
        self.cable = Cable(LATENCY_NS, RATE_BPS, MTU_BYTES)
        self.node_of_gid: dict[int, str] = {}
        self.node_of_lid: dict[int, str] = {}  # a LID and a GID may be the same number

    # ------------------------------------------------------------------ what the adapters ask
    def transmit(self, node: str, qpn: int, packet: Packet | Frame) -> int:
        """Put a packet on the cable now; the nanoseconds it keeps the port busy."""
        trace, cable = self.trace, self.cable
        if isinstance(packet, Frame):
            return self._transmit_frame(node, qpn, packet)
        busy_ns = cable.occupies_ns(packet)
        sent = trace.first + len(trace.tail) - 1  # `latest` costs a call
        flow, hca = packet.flow, self.nodes[node]
        by_lid = type(flow) is LidFlow
        # A GID that was removed still leads to its node, as by its MAC; the port drops the packet.
        target = (self.node_of_lid if by_lid else self.node_of_gid).get(flow.dst)
        if target is None and is_multicast(flow.dst):
            return self._spread(node, qpn, packet)
        if target is None or hca.port_state is not _ACTIVE:
            reason = _unknown(packet) if target is None else _NOT_ACTIVE
            trace.record(Kind.PACKET_LOST, node, qpn, packet, reason)
            return busy_ns
        # Without a fault a packet needs no Transit: it is one entry of the heap.
        if cable.faults or not cable.up:
            self._convey(Transit(node, target, packet, qpn, trace.at_ns, busy_ns, sent))
            return busy_ns
        # When its last bit arrives: before that a port cannot check the ICRC.
        self.agenda.file(trace.at_ns + busy_ns + cable.latency_ns, _ARRIVAL, target, packet, sent)
        return busy_ns

    def _spread(self, node: str, qpn: int, packet: Packet) -> int:
        """Multicast: to every other node, and to this one if it is attached itself."""
        sent, busy_ns = self.trace.latest, self.cable.occupies_ns(packet)
        now_ns = self.trace.at_ns
        source = self.nodes[node]
        if source.port_state is not _ACTIVE:
            self.trace.record(Kind.PACKET_LOST, node, qpn, packet, _NOT_ACTIVE)
            return busy_ns
        for target, hca in self.nodes.items():
            if target == node:
                if packet.flow.dst in hca.groups:
                    # A member's own copy does not cross the cable: no latency, no fault.
                    self.agenda.file(now_ns + busy_ns, _ARRIVAL, target, packet, sent)
            else:
                self._convey(Transit(node, target, packet, qpn, now_ns, busy_ns, sent))
        return busy_ns

    def _transmit_frame(self, node: str, qpn: int, frame: Frame) -> int:
        """To the node that has the MAC; to all others for a group or an unknown MAC."""
        sent, busy_ns = self.trace.latest, self.cable.frame_occupies_ns(frame)
        if self.nodes[node].port_state is not _ACTIVE:
            self.trace.record(Kind.PACKET_LOST, node, qpn, frame, _DOWN)
            return busy_ns
        # As a switch floods: a MAC that no node has goes to every other port.
        others = [name for name in self.nodes if name != node]
        for target in [n for n in others if self.nodes[n].mac == frame.dst_mac] or others:
            self._convey(Transit(node, target, frame, qpn, self.trace.at_ns, busy_ns, sent))
        return busy_ns

    def _convey(self, transit: Transit) -> None:
        """Through the faults, and what is left of it to the other end."""
        self.cable.carry(transit)
        self._tell(transit)
        for accident in self.cable.faults if transit.accidents else ():
            if accident.number in transit.accidents and isinstance(accident, TimedFault):
                self._plan(accident, transit.left_ns)
        if transit.lost:
            return
        arrival = transit.packet if not transit.frame else _as_read(transit)
        at_ns = transit.left_ns + transit.busy_ns + self.cable.latency_ns + transit.late_ns
        self.agenda.file(at_ns + transit.held_ns, _ARRIVAL, transit.target, arrival, transit.sent)
        for later_ns in transit.copies_after_ns:  # a copy of what is held is not held
            self._log(Kind.PACKET_COPIED, transit, later_ns)
            self.agenda.file(at_ns + later_ns, _ARRIVAL, transit.target, arrival, self.trace.latest)
        for held in transit.released:
            self._release(held, at_ns)

    def _tell(self, transit: Transit) -> None:
        """Record what the faults did to a packet."""
        if transit.lost:
            self._log(Kind.PACKET_LOST, transit, transit.lost)
            return
        if transit.corrupted:
            self._log(Kind.PACKET_HARMED, transit, transit.frame)
        if transit.marked:
            self._log(Kind.PACKET_MARKED, transit, transit.frame)
        if transit.late_ns:
            self._log(Kind.PACKET_DELAYED, transit, transit.late_ns)
        if transit.held_ns:
            self._log(Kind.PACKET_HELD, transit, transit.held_ns)

    def _log(self, kind: Kind, transit: Transit, b: object) -> None:
        self.trace.record(kind, transit.source, transit.sender, transit.packet, b)

    def _release(self, held: HeldPacket, at_ns: int) -> None:
        """Enough packets have passed a held packet: it arrives after the last of them."""
        if self.agenda.bring_forward(held.sent, held.target, at_ns):
            kind = Kind.PACKET_RELEASED
            self.trace.record(kind, held.source, held.sender, held.packet, at_ns)

    def has(self, gid: int) -> bool:
        """True if a port on the network has this address."""
        return gid in self.node_of_gid

    def inject(self, source: str, target: str, octets: bytes) -> None:
        """Put bytes on the cable that no port has sent; no fault applies to them."""
        trace, cable = self.trace, self.cable
        packet, trouble = _read(octets, port.link_layer(self.nodes[target]))
        trace.record(Kind.PACKET_INJECTED, source, 0, packet, Injection(target, octets))
        if not cable.up:
            trace.record(Kind.PACKET_LOST, source, 0, packet, LINK_DOWN)
            return
        frame = Frame(octets)
        arrival = _injected(self.nodes[target], packet, octets, trouble)
        at_ns = trace.at_ns + cable.frame_occupies_ns(frame) + cable.latency_ns
        self.agenda.file(at_ns, _ARRIVAL, target, arrival, trace.latest)

    # ------------------------------------------------------------------ what else may happen
    def set_fault(self, fault: Fault) -> None:
        """Add a fault: it waits for packets, a timed fault for one of them or for its time."""
        self.cable.faults.append(fault)
        if isinstance(fault, TimedFault) and fault.at_ns is not None:
            self._plan(fault, fault.at_ns)

    def _plan(self, accident: TimedFault, at_ns: int) -> None:
        node = accident.victim.node
        self.agenda.file(at_ns, _HOST, node, accident.number, self.trace.latest)

    def clear_fault(self, fault: Fault) -> None:
        """Remove a fault and its schedule."""
        self.cable.faults.remove(fault)
        self.agenda.cancel(_HOST, fault.number)

    # ------------------------------------------------------------------ the cable's settings
    def set_link(self, *, up: bool) -> None:
        """Set the link down or up; the ports of all nodes follow."""
        self.cable.up = up
        self.trace.record(Kind.LINK_SET, "", 0, "state", "up" if up else "down")
        for hca in self.nodes.values():
            # One cable for all nodes: without it no port has a carrier.
            port.set_state(hca, PortState.ACTIVE if up else PortState.DOWN)

    def tune_link(self, setting: str, value: int) -> None:
        """Set `latency_ns`, `rate_bps` or `mtu`; an MTU is the active_mtu of every port."""
        changes = getattr(self.cable, setting) != value
        setattr(self.cable, setting, value)
        self.trace.record(Kind.LINK_SET, "", 0, setting, value)
        if setting == "mtu":
            for hca in self.nodes.values():
                # Nodes and snapshots share profiles: the node gets another one.
                caps = replace(hca.profile.caps, active_mtu=min(value, hca.profile.caps.max_mtu))
                hca.profile = replace(hca.profile, caps=caps)
        if setting == "rate_bps" and changes:
            for hca in self.nodes.values():
                port.speed_changed(hca)

    # ------------------------------------------------------------------ addresses
    def set_gid(self, node: str, index: int, gid: int) -> None:
        """Set or remove (0) an address. Frames for a removed one still reach the node."""
        port.set_gid(self.nodes[node], index, gid)
        if gid:
            self.node_of_gid[gid] = node

    def set_link_layer(self, node: str, layer: LinkLayer) -> None:
        """The port of a node becomes one of RoCE or InfiniBand; its old addresses are gone."""
        hca = self.nodes[node]
        for gid in hca.gids:
            # Not kept, as a removed GID is: nothing on the new link layer forwards to it.
            self.node_of_gid.pop(gid, None)
        for lid in hca.lids:
            self.node_of_lid.pop(lid, None)
        port.set_link_layer(hca, layer)
        self.node_of_gid.update(dict.fromkeys(hca.gids, node))
        self.node_of_lid.update(dict.fromkeys(hca.lids, node))

    def origin_of(self, flow: Flow) -> str:
        """The node that packets of a flow come from; empty if no node has the address."""
        return self._table_of(flow).get(flow.src, "")

    def target_of(self, flow: Flow) -> str:
        """The node that packets of a flow go to; empty if no node has the address."""
        return self._table_of(flow).get(flow.dst, "")

    def _table_of(self, flow: Flow) -> dict[int, str]:
        return self.node_of_lid if isinstance(flow, LidFlow) else self.node_of_gid

    def owner_of(self, gid: int) -> str:
        """The node that has the address now; empty if none has it."""
        return next((name for name, hca in self.nodes.items() if gid in hca.gids), "")


def _unknown(packet: Packet) -> str:
    return f"{NO_LID} {packet.flow.dst}" if is_infiniband(packet) else NO_ADDRESS


def _read(octets: bytes, link_layer: LinkLayer) -> tuple[Packet | Frame, str]:
    """The packet in these bytes, or the bytes as a frame, and why they are no packet."""
    try:
        return decode(octets, link_layer), ""
    except Malformed as malformed:
        return Frame(octets.ljust(Ethernet.LENGTH, b"\0")), f"malformed: {malformed}"


def _injected(hca: Hca, packet: Packet | Frame, octets: bytes, trouble: str) -> Arrival:
    """The arrival at a port: InfiniBand has packets only, on Ethernet flow rules see any frame."""
    if hca.lids:
        return (packet, trouble) if trouble else packet
    return _frame(octets, packet)


def _frame(octets: bytes, packet: Packet | Frame) -> Arrival:
    """The arrival of bytes as a frame; of the packet, malformed, if they are too few for one."""
    return Frame(octets) if len(octets) >= Ethernet.LENGTH else (packet, "malformed: too-short")


def _as_read(transit: Transit) -> Arrival:
    """Bytes that a fault has touched, as the other end reads them."""
    if isinstance(transit.packet, Frame):
        return _frame(transit.frame, transit.packet)
    read = transit.read()
    return read if isinstance(read, Packet) else (transit.packet, f"malformed: {read}")
