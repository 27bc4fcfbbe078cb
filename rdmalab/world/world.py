"""The world: nodes, a cable between them, and the event loop."""

from copy import deepcopy
from heapq import heappop
from typing import Any, TypeVar

from rdmalab.command import Noun, Refused, Thing
from rdmalab.hca.device import Hca
from rdmalab.hca.errors import refused
from rdmalab.hca.objects import Table
from rdmalab.spec.profiles import STRICT, Profile
from rdmalab.spec.records import Kind
from rdmalab.wire.frame import Frame
from rdmalab.wire.packet import LINK_LOCAL, Packet, ipv4_gid, mac_of
from rdmalab.world import programs
from rdmalab.world.event_queue import NEVER, Door, Entry, EventQueue
from rdmalab.world.faults import TimedFault, trigger
from rdmalab.world.network import Network
from rdmalab.world.programs import Programs
from rdmalab.world.trace import Forgotten, Trace

_PORT, _ARRIVAL, _TIMER, _PROGRAM, _HOST = Door

T = TypeVar("T")


class World:
    """All state, as plain data; `now_ns` changes only in `run`.

    nodes: name → profile, in the order of their addresses 10.0.0.1, 10.0.0.2, …
    seed: random seed.
    """

    __slots__ = ("agenda", "destroyed_by_fault", "network", "nodes", "programs", "seed", "trace")

    def __init__(
        self, nodes: dict[str, Profile] | None = None, trace: Trace | None = None, seed: int = 0
    ) -> None:
        self.trace = trace or Trace()
        self.seed = seed
        self.destroyed_by_fault: list[Thing] = []  # their names are not yet retired
        self.agenda = EventQueue(self.trace)
        self.programs = Programs()
        self.nodes: dict[str, Hca] = {}
        self.network = Network(self.nodes, self.trace, self.agenda)
        for host, (name, profile) in enumerate((nodes or {"A": STRICT, "B": STRICT}).items(), 1):
            self._add(name, profile, host)

    def _add(self, name: str, profile: Profile, host: int) -> None:
        gid = ipv4_gid(f"10.0.0.{host}")
        gids = [LINK_LOCAL | mac_of(gid), gid]
        hca = self.nodes[name] = Hca(name, gids, profile, self.trace, self.network, self.agenda)
        hca.tables[Noun.PROGRAM] = Table(Noun.PROGRAM.value, 1)  # the host's, not the adapter's
        self.network.node_of_gid.update(dict.fromkeys(gids, name))

    def __deepcopy__(self, memo: dict[int, object]) -> "World":
        """A copy shares the profiles, which are tables, and who carries out its programs' lines."""
        memo.update((id(hca.profile), hca.profile) for hca in self.nodes.values())
        hosts = (self.programs.carry_out, self.programs.holds, self.programs.touches)
        memo.update((id(host), host) for host in hosts)
        twin = memo[id(self)] = World.__new__(World)
        for name in World.__slots__:
            setattr(twin, name, deepcopy(getattr(self, name), memo))
        return twin

    def dispose(self) -> None:
        """Remove the references between all parts; the world cannot be used afterwards."""
        self.nodes.clear()
        self.agenda.heap, self.agenda.timers = [], []
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
        self.trace.local = ""
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
        node = trace.local
        for done in range(events):
            # The usual case without a call: no timer is due before the packet.
            if heap and heap[0][0] <= limit_ns and (not timers or heap[0][0] < timers[0][0]):
                entry = heappop(heap)
            elif (entry := agenda.pop(limit_ns)) is None:
                trace.local = node
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
                node = self._rarer(door, node, argument)
            if waiting:
                trace.local = node
                programs.settle(self)
        trace.local = node
        return events

    def _rarer(self, door: int, node: str, argument: Any) -> str:
        """Dispatch program, raw-frame, malformed-packet and host entries.

        The node, if only that one can have changed; else "".
        """
        if door is _PROGRAM:
            return node if programs.turn(self, argument) else ""
        if isinstance(argument, Frame):
            self.nodes[node].receive_frame(argument, self.now_ns)
        elif door == _ARRIVAL:
            self._drop(node, *argument)
        else:
            self._strike(node, argument)
        return ""

    def settle(self) -> None:
        """A command is over: programs that waited for what it did go on."""
        self.trace.local = ""
        if self.programs.waiting:
            programs.settle(self)

    def advance(self, to_ns: int) -> None:
        """Let time pass in which nothing happens."""
        # Time goes back only by a jump, which restores a snapshot.
        self.trace.at_ns = max(self.trace.at_ns, to_ns)

    def _drop(self, node: str, packet: Packet | Frame, reason: str) -> None:
        """Drop bytes that are not a packet, and count them."""
        self.trace.record(Kind.PACKET_DROPPED, node, packet.dest_qp, packet, reason)
        drops = self.nodes[node].drops
        drops["malformed"] = drops.get("malformed", 0) + 1

    def _strike(self, node: str, number: int) -> None:
        """Apply a timed fault."""
        accident = next(fault for fault in self.network.cable.faults if fault.number == number)
        assert isinstance(accident, TimedFault)
        self.network.cable.faults.remove(accident)
        hca, noun = self.nodes[node], accident.victim.noun
        hca.now_ns = self.trace.at_ns
        before = accident.victim.number in hca.tables[noun].items
        trigger(hca, accident)
        if before and accident.victim.number not in hca.tables[noun].items:
            self.destroyed_by_fault.append(accident.victim)
