"""The state of an adapter, and what its parts may ask of it.

Verbs and engines see an `Adapter` and never each other: `device.py`, above all of them, is the only
module that knows the engines and says which of them answers. So no import leads in a circle, also
for a type checker.
"""

from collections import deque
from typing import Any

from rdmalab.hca.cq import CompletionQueue
from rdmalab.hca.environment import Agenda, Network, Recorder
from rdmalab.hca.memory import Memory
from rdmalab.hca.objects import (
    AddressHandle,
    CompChannel,
    Flow,
    KeyTarget,
    MemoryRegion,
    MemoryWindow,
    ProtectionDomain,
    Table,
    ThreadDomain,
    XrcDomain,
)
from rdmalab.hca.qp import QueuePair, SharedReceiveQueue
from rdmalab.hca.wr import Cqe
from rdmalab.spec.async_events import EVENTS, AsyncEvent
from rdmalab.spec.limits import PortState
from rdmalab.spec.profiles import Profile
from rdmalab.spec.records import Kind
from rdmalab.wire.frame import Frame
from rdmalab.wire.packet import Packet, mac_of

# Where a host's first buffer lies, times the host's number: no address means the same on two nodes.
FIRST_ADDRESS = 0x1000_0000
FIRST_SRQN = 0x31  # no number that a QP of a small world has
FULL_PKEY = 0xFFFF


class Adapter:
    """One node's adapter and its host's memory."""

    __slots__ = (
        "agenda", "ahs", "async_events", "async_unacked", "busy_until_ns", "channels", "cqs",
        "drops", "flows", "gids", "groups", "host", "lids", "lkeys", "mac", "memory", "mrs", "mws",
        "network", "node", "now_ns", "pds", "pkeys", "port_state", "profile", "qps", "ready",
        "rkeys", "srqs", "tables", "tds", "trace", "turn_filed", "unavailable_rule", "xrcds",
    )  # fmt: skip

    def __init__(
        self,
        node: str,
        gids: list[int],
        profile: Profile,
        trace: Recorder,
        network: Network,
        agenda: Agenda,
    ) -> None:
        self.node = node
        self.gids = gids
        self.lids: tuple[int, ...] = ()  # of an InfiniBand port, the base LID first
        self.host = gids[-1] & 0xFF
        self.profile = profile
        self.trace = trace
        self.network = network
        self.agenda = agenda
        self.now_ns = 0
        self.memory = Memory(FIRST_ADDRESS * self.host)
        self.pkeys = [FULL_PKEY] + [0] * profile.caps.max_pkey_index  # 0: an empty entry
        self.mac = mac_of(gids[-1])
        self.port_state = PortState.ACTIVE
        self.unavailable_rule = ""  # the rule by which a closed or dead device refuses
        self.ready: deque[QueuePair] = deque()
        self.busy_until_ns = 0
        self.turn_filed = False
        self.async_events: deque[tuple[AsyncEvent, int]] = deque()
        self.async_unacked: list[tuple[AsyncEvent, int]] = []  # taken by the program
        self.drops: dict[str, int] = {}
        self.groups: dict[int, list[int]] = {}  # multicast GID → attached QPs
        self._lay_tables()

    def _lay_tables(self) -> None:
        """Create the empty tables, one per kind of object."""
        self.pds = Table[ProtectionDomain]("pd", 1)
        self.mrs = Table[MemoryRegion]("mr", 1)
        self.cqs = Table[CompletionQueue]("cq", 1)
        self.qps = Table[QueuePair]("qp", 0x11)  # 0 and 1 are SMI and GSI
        self.ahs = Table[AddressHandle]("ah", 1)
        self.srqs = Table[SharedReceiveQueue]("srq", FIRST_SRQN)
        self.xrcds = Table[XrcDomain]("xrcd", 1)
        self.channels = Table[CompChannel]("channel", 1)
        self.tds = Table[ThreadDomain]("td", 1)
        self.flows = Table[Flow]("flow", 1)
        self.mws = Table[MemoryWindow]("mw", 1)
        every: tuple[Table[Any], ...] = (
            self.pds, self.mrs, self.channels, self.cqs, self.qps, self.ahs, self.srqs, self.xrcds,
            self.tds, self.flows, self.mws,
        )  # fmt: skip
        self.tables: dict[str, Table[Any]] = {table.noun: table for table in every}
        self.lkeys: dict[int, MemoryRegion] = {}
        self.rkeys: dict[int, KeyTarget] = {}

    def leave_line(self, qp: QueuePair) -> None:
        """Remove a destroyed QP from the queue for the port; snapshots rely on it."""
        if qp.queued:
            qp.queued = False
            self.ready.remove(qp)

    def drop(
        self, qp: QueuePair | None, packet: Packet | Frame, reason: str, why: str = ""
    ) -> None:
        """Drop and count a packet without an answer; `why`: a more exact reason than `reason`."""
        self.drops[reason] = self.drops.get(reason, 0) + 1
        number = packet.dest_qp if qp is None else qp.number
        self.trace.record(Kind.PACKET_DROPPED, self.node, number, packet, why or reason)

    def raise_event(self, event: AsyncEvent, number: int) -> None:
        """Queue an asynchronous event."""
        self.async_events.append((event, number))
        self.trace.record(Kind.ASYNC_RAISED, self.node, number, event, EVENTS[event].noun)

    # ------------------------------------------------------------------ what the device does
    def wake(self, qp: QueuePair, surely: bool = False) -> None:
        """Queue this QP for the port: it may have something to send; `surely` it has."""
        raise NotImplementedError

    def complete(self, qp: QueuePair, cqn: int, cqe: Cqe) -> bool:
        """Add a CQE for this QP; returns False if its CQ had no room for it."""
        raise NotImplementedError

    def receive(self, packet: Packet, now_ns: int) -> None:
        """Process an arriving packet: drop it, or give it to the responder or completer."""
        raise NotImplementedError

    def go_back(self, qp: QueuePair, reason: str) -> None:
        """Retransmit from the oldest unacknowledged PSN."""
        raise NotImplementedError

    def cancel_retransmit(self, qp: QueuePair) -> None:
        """Cancel the pending retransmission of requests that were answered."""
        raise NotImplementedError

    def rewind_unacked(self, qp: QueuePair) -> None:
        """Reset the send cursor to the oldest unacknowledged request."""
        raise NotImplementedError
