"""The world: nodes, a cable between them, and the event loop."""

from copy import deepcopy
from dataclasses import replace
from heapq import heappop
from typing import Any, TypeVar

from rdmalab.command import Noun, Refused, Thing
from rdmalab.hca import port
from rdmalab.hca.device import Hca, Table
from rdmalab.hca.environment import Timer
from rdmalab.hca.errors import refused
from rdmalab.spec.limits import LinkLayer, PortState
from rdmalab.spec.profiles import STRICT, Profile
from rdmalab.spec.records import Kind
from rdmalab.wire.frame import Frame
from rdmalab.wire.headers import Ethernet
from rdmalab.wire.links import decode, is_infiniband
from rdmalab.wire.packet import Flow, LidFlow, Packet, ipv4_gid, is_multicast, mac_of
from rdmalab.wire.roce import Malformed
from rdmalab.world import programs
from rdmalab.world.cable import Cable
from rdmalab.world.event_queue import NEVER, Door, Entry, EventQueue
from rdmalab.world.faults import Fault
from rdmalab.world.programs import Programs
from rdmalab.world.timed_faults import TimedFault, trigger
from rdmalab.world.trace import Forgotten, Trace
from rdmalab.world.transit import HeldPacket, Injection, Transit

_LINK_LOCAL = 0xFE80 << 112
LATENCY_NS = 1_000
RATE_BPS = 100_000_000_000
MTU_BYTES = 4096
_PORT, _ARRIVAL, _TIMER, _PROGRAM, _HOST = Door
_ACTIVE = PortState.ACTIVE

_NOT_ACTIVE, _DOWN = "the port is not ACTIVE", "the port is down"
NO_ADDRESS = "no port has this address"
NO_HOP = "its hop limit is 0"  # so says its address: such a packet never leaves
NEVER_LEFT = (_NOT_ACTIVE, _DOWN, NO_HOP)
"""Why a packet is lost before it is on the cable."""

# The packet that was sent, and why nothing can be read in the bytes that arrived.
Garbage = tuple[Packet | Frame, str]
Arrival = Packet | Frame | Garbage

T = TypeVar("T")


class World:
    """All state, as plain data; `now_ns` changes only in `run`.

    nodes: name → profile, in the order of their addresses 10.0.0.1, 10.0.0.2, …
    seed: random seed.
    """

    __slots__ = (
        "agenda", "cable", "node_of_gid", "node_of_lid", "nodes", "programs", "seed", "struck",
        "trace",
    )  # fmt: skip

    def __init__(
        self,
        nodes: dict[str, Profile] | None = None,
        trace: Trace | None = None,
        seed: int = 0,
    ) -> None:
        self.trace = trace or Trace()
        self.seed = seed
        self.struck: list[Thing] = []  # destroyed by accidents, their names not yet buried
        self.agenda = EventQueue()
        self.cable = Cable(LATENCY_NS, RATE_BPS, MTU_BYTES)
        self.programs = Programs()
        self.nodes: dict[str, Hca] = {}
        self.node_of_gid: dict[int, str] = {}
        self.node_of_lid: dict[int, str] = {}  # a LID and a GID may be the same number
        for host, (name, profile) in enumerate((nodes or {"A": STRICT, "B": STRICT}).items(), 1):
            self._add(name, profile, host)

    def _add(self, name: str, profile: Profile, host: int) -> None:
        gid = ipv4_gid(f"10.0.0.{host}")
        gids = [_LINK_LOCAL | mac_of(gid), gid]
        hca = self.nodes[name] = Hca(name, gids, profile, self.trace, self)
        hca.tables[Noun.PROGRAM] = Table(Noun.PROGRAM.value, 1)  # the host's, not the adapter's
        self.node_of_gid.update(dict.fromkeys(gids, name))

    def __deepcopy__(self, memo: dict[int, Any]) -> "World":
        """A copy shares the profiles, which are tables, and who carries out its programs' lines."""
        memo.update((id(hca.profile), hca.profile) for hca in self.nodes.values())
        hosts = (self.programs.carry_out, self.programs.holds)
        memo.update((id(host), host) for host in hosts)
        twin = memo[id(self)] = World.__new__(World)
        for name in World.__slots__:
            setattr(twin, name, deepcopy(getattr(self, name), memo))
        return twin

    def dispose(self) -> None:
        """Remove the references between all parts; the world cannot be used afterwards."""
        self.nodes.clear()
        self.agenda = EventQueue()
        self.programs = Programs()
        self.trace.tail, self.trace.older = [], Forgotten()

    @property
    def now_ns(self) -> int:
        """The virtual time in ns."""
        return self.trace.at_ns

    @property
    def event(self) -> int:
        """Number of the last event; -1 before the first."""
        return self.trace.event

    def node(self, thing: Thing) -> Hca:
        """The adapter of a node; Refused if there is no such node."""
        return self.nodes[thing.node]

    def find(self, thing: Thing, of: type[T]) -> T:
        """The object that a Thing stands for, which is an `of`. Refused with EFAULT if it is gone.

        TypeError where the object is something else: the caller took one noun for another.
        """
        return self.at(thing, of)[1]

    def at(self, thing: Thing, of: type[T]) -> tuple[Hca, T]:
        """The adapter of a Thing, and the object that it stands for, as `find` gives it."""
        noun, node, number = thing
        hca = self.nodes[node]
        try:
            found: object = hca.tables[noun].items[number]
        except KeyError:
            if noun is not Noun.NODE:
                raise self.gone(thing) from None
            found = hca
        if not isinstance(found, of):
            raise TypeError(f"{thing} is no {of.__name__}")
        return hca, found

    def gone(self, thing: Thing) -> Refused:
        """The error for a call on a destroyed object, by the profile of its node."""
        what = f"this {thing.noun}"
        return refused(self.nodes[thing.node].profile, "use-after-destroy", what)

    # ------------------------------------------------------------------ events
    def begin_event(self) -> None:
        """A command is the next event, at this very time."""
        self.trace.event += 1
        self.trace.cause = -1
        for hca in self.nodes.values():
            hca.now_ns = self.trace.at_ns

    def cancel_event(self) -> None:
        """The command meant nothing after all; nothing may have been recorded."""
        self.trace.event -= 1

    def step(self, until_ns: int | None = None) -> bool:
        """Carry out the next entry of the agenda; False if there is none (in time)."""
        return self.run(1, until_ns) == 1

    def run(self, events: int, until_ns: int | None = None) -> int:
        """Carry out up to `events` entries due up to `until_ns`; how many there were."""
        trace, nodes, agenda = self.trace, self.nodes, self.agenda
        waiting = self.programs.waiting
        heap, timers, limit_ns = agenda.heap, agenda.timers, NEVER if until_ns is None else until_ns
        entry: Entry | None
        for done in range(events):
            if heap and heap[0][0] <= limit_ns and (not timers or heap[0] < timers[0]):
                entry = heappop(heap)
            elif (entry := agenda.pop(limit_ns)) is None:
                return done
            now_ns, _, door, node, argument, trace.cause = entry
            trace.at_ns = now_ns
            trace.event += 1
            if door is _PORT:
                nodes[node].turn(now_ns)
            elif door is _TIMER:
                nodes[node].timer(argument.qpn, now_ns)
            elif isinstance(argument, Packet):
                nodes[node].receive(argument, now_ns)
            else:
                self._rarer(door, node, argument)
            if waiting:
                programs.settle(self)
        return events

    def _rarer(self, door: int, node: str, argument: Any) -> None:
        """Dispatch program, raw-frame, malformed-packet and host entries."""
        if door is _PROGRAM:
            programs.turn(self, argument)
        elif isinstance(argument, Frame):
            self.nodes[node].receive_frame(argument, self.now_ns)
        elif door == _ARRIVAL:
            self._drop(node, *argument)
        else:
            self._strike(node, argument)

    def settle(self) -> None:
        """A command is over: programs that waited for what it did go on."""
        if self.programs.waiting:
            programs.settle(self)

    def advance(self, to_ns: int) -> None:
        """Let time pass in which nothing happens."""
        self.trace.at_ns = max(self.trace.at_ns, to_ns)

    def _drop(self, node: str, packet: Packet | Frame, reason: str) -> None:
        """Drop bytes that are not a packet, and count them."""
        self.trace.record(Kind.PACKET_DROPPED, node, packet.dest_qp, packet, reason)
        drops = self.nodes[node].drops
        drops["malformed"] = drops.get("malformed", 0) + 1

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

    def _strike(self, node: str, number: int) -> None:
        """Apply a timed fault."""
        accident = next(fault for fault in self.cable.faults if fault.number == number)
        assert isinstance(accident, TimedFault)
        self.cable.faults.remove(accident)
        hca, noun = self.nodes[node], accident.victim.noun
        hca.now_ns = self.trace.at_ns
        before = accident.victim.number in hca.tables[noun].items
        trigger(hca, accident)
        if before and accident.victim.number not in hca.tables[noun].items:
            self.struck.append(accident.victim)

    def inject(self, source: str, target: str, octets: bytes) -> None:
        """Put bytes on the cable that no port has sent; no fault applies to them."""
        trace, cable = self.trace, self.cable
        packet, trouble = _read(octets, port.link_layer(self.nodes[target]))
        trace.record(Kind.PACKET_INJECTED, source, 0, packet, Injection(target, octets))
        if not cable.up:
            trace.record(Kind.PACKET_LOST, source, 0, packet, "the link is down")
            return
        frame = Frame(octets)
        arrival = _injected(self.nodes[target], packet, octets, trouble)
        at_ns = trace.at_ns + cable.frame_occupies_ns(frame) + cable.latency_ns
        self.agenda.file(at_ns, _ARRIVAL, target, arrival, trace.latest)

    # ------------------------------------------------------------------ what the adapters ask
    def transmit(self, node: str, qpn: int, packet: Packet | Frame) -> int:
        """Put a packet on the cable now; the nanoseconds it keeps the port busy."""
        trace, cable = self.trace, self.cable
        if isinstance(packet, Frame):
            return self._transmit_frame(node, qpn, packet)
        busy_ns = cable.occupies_ns(packet)
        sent = trace.first + len(trace.tail) - 1  # `latest` costs a call
        by_lid = type(packet.flow) is LidFlow
        target = (self.node_of_lid if by_lid else self.node_of_gid).get(packet.flow.dst)
        if target is None and is_multicast(packet.flow.dst):
            return self._spread(node, qpn, packet)
        hca = self.nodes[node]
        stays = not packet.flow.hop_limit and not (hca.profile.sends_hop_limit_0 or hca.lids)
        if target is None or stays or hca.port_state is not _ACTIVE:
            reason = _NOT_ACTIVE if hca.port_state is not _ACTIVE else NO_HOP
            reason = _unknown(packet) if target is None else reason
            trace.record(Kind.PACKET_LOST, node, qpn, packet, reason)
            return busy_ns
        if cable.faults or not cable.up:
            self._convey(Transit(node, target, packet, qpn, trace.at_ns, busy_ns, sent))
            return busy_ns
        at_ns = trace.at_ns + busy_ns + cable.latency_ns
        self.agenda.file(at_ns, _ARRIVAL, target, packet, sent)
        return busy_ns

    def _spread(self, node: str, qpn: int, packet: Packet) -> int:
        """Multicast: to every other node, and to this one if it is attached itself."""
        sent, busy_ns = self.trace.latest, self.cable.occupies_ns(packet)
        now_ns = self.trace.at_ns
        source = self.nodes[node]
        stays = not packet.flow.hop_limit and not source.profile.sends_hop_limit_0
        if stays or source.port_state is not _ACTIVE:
            reason = NO_HOP if source.port_state is _ACTIVE else _NOT_ACTIVE
            self.trace.record(Kind.PACKET_LOST, node, qpn, packet, reason)
            return busy_ns
        for target, hca in self.nodes.items():
            if target == node:
                if packet.flow.dst in hca.groups:
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
        others = [name for name in self.nodes if name != node]
        for target in [n for n in others if self.nodes[n].mac == frame.dst_mac] or others:
            self._convey(Transit(node, target, frame, qpn, self.trace.at_ns, busy_ns, sent))
        return busy_ns

    def _convey(self, way: Transit) -> None:
        """Through the faults, and what is left of it to the other end."""
        self.cable.carry(way)
        self._tell(way)
        for accident in self.cable.faults if way.accidents else ():
            if accident.number in way.accidents and isinstance(accident, TimedFault):
                self._plan(accident, way.left_ns)
        if way.lost:
            return
        arrival = way.packet if not way.frame else _as_read(way)
        at_ns = way.left_ns + way.busy_ns + self.cable.latency_ns + way.late_ns
        self.agenda.file(at_ns + way.held_ns, _ARRIVAL, way.target, arrival, way.sent)
        for behind_ns in way.behind_ns:  # a copy of what is held is not held
            self._log(Kind.PACKET_COPIED, way, behind_ns)
            self.agenda.file(at_ns + behind_ns, _ARRIVAL, way.target, arrival, self.trace.latest)
        for held in way.released:
            self._release(held, at_ns)

    def _tell(self, way: Transit) -> None:
        """Record what the faults did to a packet."""
        if way.lost:
            self._log(Kind.PACKET_LOST, way, way.lost)
            return
        if way.harmed:
            self._log(Kind.PACKET_HARMED, way, way.frame)
        if way.marked:
            self._log(Kind.PACKET_MARKED, way, way.frame)
        if way.late_ns:
            self._log(Kind.PACKET_DELAYED, way, way.late_ns)
        if way.held_ns:
            self._log(Kind.PACKET_HELD, way, way.held_ns)

    def _log(self, kind: Kind, way: Transit, b: Any) -> None:
        self.trace.record(kind, way.source, way.sender, way.packet, b)

    def _release(self, held: HeldPacket, at_ns: int) -> None:
        """Enough packets have passed a held packet: it arrives after the last of them."""
        if self.agenda.bring_forward(held.sent, held.target, at_ns):
            kind = Kind.PACKET_RELEASED
            self.trace.record(kind, held.source, held.sender, held.packet, at_ns)

    def has(self, gid: int) -> bool:
        """Whether a port on the network has this address."""
        return gid in self.node_of_gid

    def file_port(self, node: str, at_ns: int) -> None:
        """Schedule the next turn of the node's port at `at_ns`."""
        trace = self.trace
        cause = trace.first + len(trace.tail) - 1  # `latest` costs a call
        self.agenda.file(at_ns, _PORT, node, None, cause)

    def arm(self, timer: Timer, at_ns: int) -> None:
        """Let a timer fire at `at_ns`; replaces an earlier arming."""
        self.agenda.arm(timer, at_ns, self.trace.latest)

    def disarm(self, timer: Timer) -> None:
        """Stop the timer if it is armed."""
        self.agenda.disarm(timer)

    # ------------------------------------------------------------------ the cable's settings
    def set_link(self, *, up: bool) -> None:
        """Set the link down or up; the ports of all nodes follow."""
        self.cable.up = up
        self.trace.record(Kind.LINK_SET, "", 0, "state", "up" if up else "down")
        for hca in self.nodes.values():
            hca.set_port(PortState.ACTIVE if up else PortState.DOWN)

    def tune_link(self, setting: str, value: int) -> None:
        """Set `latency_ns`, `rate_bps` or `mtu`; an MTU is the active_mtu of every port."""
        changes = getattr(self.cable, setting) != value
        setattr(self.cable, setting, value)
        self.trace.record(Kind.LINK_SET, "", 0, setting, value)
        if setting == "mtu":
            for hca in self.nodes.values():
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
    return f"no port has the LID {packet.flow.dst}" if is_infiniband(packet) else NO_ADDRESS


def _read(octets: bytes, link_layer: LinkLayer) -> tuple[Packet | Frame, str]:
    """What bytes say, and why they say nothing; what is too short is filled up with zeros."""
    try:
        return decode(octets, link_layer), ""
    except Malformed as malformed:
        return Frame(octets.ljust(Ethernet.LENGTH, b"\0")), f"malformed: {malformed}"


def _injected(hca: Hca, packet: Packet | Frame, octets: bytes, trouble: str) -> Arrival:
    """What the port reads: InfiniBand has packets only, on Ethernet flow rules see any frame."""
    if hca.lids:
        return (packet, trouble) if trouble else packet
    whole = len(octets) >= Ethernet.LENGTH
    return Frame(octets) if whole else (packet, "malformed: too-short")


def _as_read(way: Transit) -> Arrival:
    """Bytes that a fault has touched, as the other end reads them."""
    if isinstance(way.packet, Frame):
        whole = len(way.frame) >= Ethernet.LENGTH
        return Frame(way.frame) if whole else (way.packet, "malformed: too-short")
    read = way.read()
    return read if isinstance(read, Packet) else (way.packet, f"malformed: {read}")
