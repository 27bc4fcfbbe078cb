"""Two queue pairs on real nodes, connected as a program connects them, and short words for them.

Nothing here is a mock: a `Pair` is a `World` of two nodes, driven through the doors of `hca`.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from types import MethodType
from typing import Any, NamedTuple

from rdmalab.hca import lifecycle, modify, mr, polling, posting, qp_lifecycle
from rdmalab.hca.ah import ah_attr_of
from rdmalab.hca.attributes import QpAttr
from rdmalab.hca.cq import CompletionQueue
from rdmalab.hca.device import Hca
from rdmalab.hca.environment import Timer
from rdmalab.hca.memory import Memory
from rdmalab.hca.objects import MemoryRegion, ProtectionDomain
from rdmalab.hca.qp import Capacity, QueuePair
from rdmalab.hca.wr import SGE, Cqe, RecvWR, SendWR
from rdmalab.spec.access import Access
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.limits import LinkLayer
from rdmalab.spec.opcodes import BY_LABEL, OPCODES
from rdmalab.spec.profiles import STRICT, Profile
from rdmalab.spec.records import Kind
from rdmalab.spec.refusals import CLASS_MASK, VALUE_MASK, Syndrome
from rdmalab.spec.states import MOVES, MTU, QPState, QPType, fields_of
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import SendFlags, WROpcode
from rdmalab.wire.packet import Packet
from rdmalab.world.event_queue import Door, EventQueue
from rdmalab.world.faults import Drop, Match
from rdmalab.world.network import Network
from rdmalab.world.trace import Trace
from rdmalab.world.world import World

REMOTE = Access.REMOTE_WRITE | Access.REMOTE_READ | Access.REMOTE_ATOMIC
ALL_RIGHTS = Access.LOCAL_WRITE | REMOTE
SIGNALED = SendFlags.SIGNALED
QKEY = 0x11111111
MANY = 1_000_000  # events; more than any test has

Told = tuple[int, WCStatus]


class Seen(NamedTuple):
    """A record by name (`spec/records.py` says what a and b are)."""

    event: int
    at_ns: int
    cause: int
    kind: Kind
    node: str
    number: int
    a: Any
    b: Any


@dataclass(slots=True)
class End:
    """One queue pair with its own PD, MR and two CQs; `peer` is the other end."""

    world: World
    hca: Hca
    pd: ProtectionDomain
    mr: MemoryRegion
    send_cq: CompletionQueue
    recv_cq: CompletionQueue
    qp: QueuePair
    peer: "End" = field(init=False, repr=False)
    ah: int | None = None  # to the peer, where each work request says where it goes

    # ------------------------------------------------------------------ verbs
    def modify(self, **attributes: Any) -> None:
        self.world.begin_event()
        modify.modify(self.hca, self.qp, QpAttr(**attributes))

    def post(self, *wrs: SendWR) -> None:
        self.world.begin_event()
        posting.post_send(self.hca, self.qp, list(wrs))

    def issue(self, opcode: WROpcode, length: int = 8, **fields: Any) -> None:
        """Post one request: see `wr`."""
        self.post(self.wr(opcode, length, **fields))

    def recv(self, length: int = 64, *, wr_id: int = 1, at: int = 0, **fields: Any) -> None:
        """Post one receive of `length` bytes at offset `at` of the MR."""
        sg = [self.sge(at, length)] if length else []
        self.world.begin_event()
        posting.post_recv(self.hca, self.qp, [RecvWR(wr_id, fields.get("sg", sg))])

    def sent(self) -> list[Told]:
        """Poll the send CQ until it is empty."""
        return [(cqe.wr_id, cqe.status) for cqe in self.poll(self.send_cq)]

    def received(self) -> list[Told]:
        """Poll the receive CQ until it is empty."""
        return [(cqe.wr_id, cqe.status) for cqe in self.poll(self.recv_cq)]

    def poll(self, cq: CompletionQueue) -> list[Cqe]:
        self.world.begin_event()
        return polling.poll(self.hca, cq, len(cq.cqes))

    def events(self) -> list[AsyncEvent]:
        """Fetch the asynchronous events."""
        events = [event for event, _ in self.hca.async_events]
        self.hca.async_events.clear()
        return events

    # ------------------------------------------------------------------ making work
    def sge(self, at: int, length: int, lkey: int | None = None) -> SGE:
        return SGE(self.mr.addr + at, length, self.mr.lkey if lkey is None else lkey)

    def wr(
        self,
        opcode: WROpcode,
        length: int = 8,
        *,
        wr_id: int = 1,
        at: int = 0,
        to: int = 0,
        flags: SendFlags = SIGNALED,
        **fields: Any,
    ) -> SendWR:
        """`length` bytes at `at` of the own MR; `to` is an offset into the peer's MR."""
        sg = [self.sge(at, length)] if length else []
        fields = {
            "sg": sg,
            "remote_addr": self.peer.mr.addr + to,
            "rkey": self.peer.mr.rkey,
            **(self.destination() if self.qp.transport.addressed else {}),
            **fields,
        }
        return SendWR(opcode, wr_id, flags=flags, **fields)

    def destination(self) -> dict[str, int]:
        """The address handle, number and Q_Key that lead to the peer."""
        if self.ah is None:
            self.ah = lifecycle.create_ah(
                self.hca, self.pd.number, ah_attr_of(self.peer.hca)
            ).number
        return {"ah": self.ah, "remote_qpn": self.peer.qp.number, "remote_qkey": QKEY}

    # ------------------------------------------------------------------ memory
    def poke(self, at: int, octets: bytes) -> None:
        self.hca.memory.write(self.mr.addr + at, octets)

    def peek(self, at: int, length: int) -> bytes:
        return self.hca.memory.read(self.mr.addr + at, length)

    # ------------------------------------------------------------------ the wire
    def incoming(self, label: str, psn: int, payload: bytes = b"", **fields: Any) -> Packet:
        """A hand-made packet of the peer's, on its way here."""
        flow = self.peer.qp.path.flow if self.peer.qp.path else None
        fields = {"flow": flow, "opcode": BY_LABEL[label][0], "dest_qp": self.qp.number, **fields}
        return Packet(psn=psn, payload=payload, **fields)

    def inject(self, packet: Packet) -> None:
        """It arrives, whether anybody sent it or not."""
        self.world.begin_event()
        self.hca.receive(packet, self.world.now_ns)

    def takes(self, label: str, psn: int, payload: bytes = b"", **fields: Any) -> None:
        """Inject an `incoming` packet."""
        self.inject(self.incoming(label, psn, payload, **fields))


@dataclass(kw_only=True)
class Pair:
    """Ends `a` (on node A) and `b` (on node B); what is not called peer's is for both."""

    qp_type: QPType = QPType.RC
    profile: Profile = STRICT
    peer_profile: Profile | None = None
    mtu: MTU = MTU.B256
    cap: Capacity = field(default_factory=Capacity)
    cqe: int = 64
    sig_all: bool = False
    access: int = int(REMOTE)
    mr_access: int = int(ALL_RIGHTS)
    mr_bytes: int = 1 << 16
    psn: int = 0  # of A's requests
    peer_psn: int = 0x800  # of B's
    timeout: int = 14
    retry_cnt: int = 7
    rnr_retry: int = 7
    min_rnr_timer: int = 1
    rd_atomic: int = 4
    dest_rd_atomic: int = 4
    peer_state: QPState = QPState.RTS
    link_layer: LinkLayer = LinkLayer.ETHERNET
    world: World = field(init=False)
    a: End = field(init=False)
    b: End = field(init=False)

    def __post_init__(self) -> None:
        self.world = World({"A": self.profile, "B": self.peer_profile or self.profile})
        self.world.begin_event()
        if self.link_layer is LinkLayer.INFINIBAND:
            for node in self.world.nodes:
                self.world.network.set_link_layer(node, self.link_layer)
        self.a, self.b = self.end("A"), self.end("B")
        self.connect(self.a, self.b)

    def end(self, node: str) -> End:
        """One more end on a node, in RESET."""
        hca = self.world.nodes[node]
        pd = lifecycle.alloc_pd(hca)
        region = mr.register(hca, pd.number, self.mr_bytes, self.mr_access, None)
        send_cq, recv_cq = (lifecycle.create_cq(hca, self.cqe, 0) for _ in range(2))
        cqns = send_cq.number, recv_cq.number
        qp = qp_lifecycle.create_qp(
            hca, self.qp_type, pd.number, cqns[0], cqns[1], self.cap, sig_all=self.sig_all
        )
        return End(self.world, hca, pd, region, send_cq, recv_cq, qp)

    def connect(self, a: End, b: End) -> None:
        """Bring both up, A's requests starting at `psn`, B's at `peer_psn`."""
        a.peer, b.peer = b, a
        self.bring_up(a, self.psn, self.peer_psn)
        self.bring_up(b, self.peer_psn, self.psn, self.peer_state)

    def bring_up(self, end: End, sq_psn: int, rq_psn: int, last: QPState = QPState.RTS) -> None:
        for state, attributes in self.moves(end, sq_psn, rq_psn).items():
            if state <= last:
                end.modify(qp_state=state, **attributes)

    def moves(self, end: End, sq_psn: int, rq_psn: int) -> dict[QPState, dict[str, Any]]:
        """What each step of the bring-up requires of this type."""
        everything: dict[QPState, dict[str, Any]] = {
            QPState.INIT: {
                "pkey_index": 0,
                "port_num": 1,
                "qp_access_flags": Access(self.access),
                "qkey": QKEY,
            },
            QPState.RTR: {
                "path_mtu": self.mtu,
                "dest_qp_num": end.peer.qp.number,
                "rq_psn": rq_psn,
                "max_dest_rd_atomic": self.dest_rd_atomic,
                "min_rnr_timer": self.min_rnr_timer,
                "ah_attr": ah_attr_of(end.peer.hca),
            },
            QPState.RTS: {
                "timeout": self.timeout,
                "retry_cnt": self.retry_cnt,
                "rnr_retry": self.rnr_retry,
                "sq_psn": sq_psn,
                "max_rd_atomic": self.rd_atomic,
            },
        }
        return {to: self._required(to, given) for to, given in everything.items()}

    def _required(self, to: QPState, given: dict[str, Any]) -> dict[str, Any]:
        before = {QPState.INIT: QPState.RESET, QPState.RTR: QPState.INIT, QPState.RTS: QPState.RTR}
        names = fields_of(MOVES[self.qp_type, before[to], to].required)
        return {name: value for name, value in given.items() if name in names}

    @property
    def octets(self) -> int:
        """The payload of a full packet."""
        return self.mtu.octets

    def run(self, until_ns: int | None = None) -> None:
        """Until nothing happens any more by itself, or until a time."""
        assert self.world.run(MANY, until_ns) < MANY
        if until_ns is not None:
            self.world.advance(until_ns)

    def timers(self) -> list[tuple[str, int]]:
        """Whose timers are armed, soonest first."""
        plans = self.world.agenda.plans()
        return [(node, qpn) for _, _, door, node, qpn, _ in plans if door is Door.TIMER]

    def lose(self, source: str, *nth: int) -> None:
        """The cable will lose the nth packets, counted from 1 and from now, that `source` sends."""
        cable = self.world.network.cable
        for n in nth:
            cable.faults.append(Drop(cable.next_fault, Match(source=source, nth=n)))
            cable.next_fault += 1

    def wire_lines(self) -> list[str]:
        """What went over the cable so far."""
        return trace_lines(self.world.trace)

    def sent_by(self, node: str) -> list[str]:
        """What one node sent so far, without its name."""
        return [line[2:] for line in self.wire_lines() if line[0] == node]

    def records(self, *kinds: Kind, node: str = "") -> list[Seen]:
        seen = [Seen(*record) for record in self.world.trace.records]
        return [s for s in seen if s.kind in kinds and node in ("", s.node)]

    def reasons(self, kind: Kind, node: str = "") -> list[str]:
        """The second word of each record of this kind: why packets were refused or dropped."""
        return [record.b for record in self.records(kind, node=node)]

    def packets(self, node: str) -> list[Packet]:
        """What a node sent."""
        return [record.a for record in self.records(Kind.PACKET_SENT, node=node)]


# --------------------------------------------------------------------------- telling
def trace_lines(trace: Trace) -> list[str]:
    """One line a packet: `A SEND_ONLY psn=0 8 bytes`, `B ACK psn=0 msn=1`; lost ones say so."""
    lines: list[str] = []
    for _, _, _, kind, node, _, packet, _ in trace.records:
        if kind is Kind.PACKET_SENT:
            lines.append(f"{node} {describe(packet)}")
        elif kind is Kind.PACKET_LOST:
            lines[-1] += " lost"
    return lines


def describe(packet: Packet) -> str:
    return " ".join(_words(packet))


def _words(packet: Packet) -> Iterator[str]:
    row = OPCODES[packet.opcode]
    pure = row.label == "ACKNOWLEDGE" and packet.aeth is not None
    yield syndrome_name(packet.aeth.syndrome) if pure and packet.aeth else row.label
    yield f"psn={packet.psn}"
    if packet.payload:
        yield f"{len(packet.payload)} bytes"
    if packet.reth is not None:
        yield f"of {packet.reth.dma_length}"
    if packet.aeth is not None and (pure or row.ends):
        yield f"msn={packet.aeth.msn}"
    if packet.deth is not None:
        yield f"qkey={packet.deth.qkey:#x}"
    if packet.solicited:
        yield "solicited"


def syndrome_name(syndrome: int) -> str:
    if syndrome & CLASS_MASK == Syndrome.RNR_NAK:
        return f"RNR_NAK({syndrome & VALUE_MASK})"
    known = {int(code): code.name for code in Syndrome}
    return known.get(syndrome if syndrome & CLASS_MASK else 0, hex(syndrome))


# --------------------------------------------------------------------------- comparing worlds
_PLAIN = (int, str, bytes, type(None), Enum, Profile)
_LEFT_OUT = (Trace, MethodType)
# Parts of the world, and what is only kept for speed.
_ELSEWHERE = {Hca: ("network", "agenda"), Network: ("nodes", "agenda"), Memory: ("reads",)}
_SEQUENCES = (list, tuple, deque)


def image(thing: Any) -> Any:
    """Everything a world holds as plain data, but for the trace: to be compared with `==`."""
    return _image(thing, set())


def _image(thing: Any, within: set[int]) -> Any:
    """within: the ids of the things that this one is part of; one of them is "itself"."""
    kind: Any = type(thing)
    if _is_plain(kind):
        return thing
    if issubclass(kind, _LEFT_OUT):
        return None
    if (key := id(thing)) in within:
        return "itself"
    within.add(key)
    found = _parts(thing, kind, within)
    within.discard(key)
    return found


def _parts(thing: Any, kind: Any, within: set[int]) -> Any:
    if issubclass(kind, _SEQUENCES):
        return [each if _is_plain(each.__class__) else _image(each, within) for each in thing]
    if issubclass(kind, bytearray):
        return bytes(thing)
    if issubclass(kind, dict):
        return _values(thing, within)
    if issubclass(kind, EventQueue):  # entries that timers have left behind are no state
        return _values({"sequence": thing.sequence, "plans": thing.plans()}, within)
    names = ["at_ns"] if issubclass(kind, Timer) else _names(thing, kind)  # the plans have the rest
    names = [name for name in names if name not in _ELSEWHERE.get(kind, ())]
    return kind.__name__, _values({name: getattr(thing, name) for name in names}, within)


def _values(things: dict[Any, Any], within: set[int]) -> dict[Any, Any]:
    return {
        key: value if _is_plain(value.__class__) else _image(value, within)
        for key, value in things.items()
    }


@cache
def _is_plain(kind: Any) -> bool:
    return issubclass(kind, _PLAIN)


def _names(thing: Any, kind: Any) -> Iterable[str]:
    own = getattr(thing, "__dict__", None)
    return (*_slots(kind), *own) if own else _slots(kind)


@cache
def _slots(kind: Any) -> tuple[str, ...]:
    return tuple(name for each in kind.__mro__ for name in getattr(each, "__slots__", ()))
