"""The adapter: the interface of host, wire and clock, and the only link between its engines.

The host posts work and calls `wake`. The wire calls `receive`. The clock calls `turn` (the port may
send a packet) and `timer`. Calls from one engine to another go through this class.
"""

from collections import deque
from typing import TYPE_CHECKING, Any

from rdmalab.hca import admission, channels, completer, flush, migration, requester, responder
from rdmalab.hca.memory import Memory
from rdmalab.hca.tables import Table
from rdmalab.spec.async_events import EVENTS, AsyncEvent
from rdmalab.spec.limits import PortState
from rdmalab.spec.opcodes import OPCODES
from rdmalab.spec.profiles import Profile
from rdmalab.spec.records import Kind
from rdmalab.spec.states import QPState
from rdmalab.wire.packet import Packet, mac_of

if TYPE_CHECKING:
    from rdmalab.hca.ah import AddressHandle
    from rdmalab.hca.channels import CompChannel
    from rdmalab.hca.cq import CompletionQueue
    from rdmalab.hca.dma import KeyTarget
    from rdmalab.hca.environment import Agenda, Network, Recorder
    from rdmalab.hca.mr import MemoryRegion
    from rdmalab.hca.mw import MemoryWindow
    from rdmalab.hca.pd import ProtectionDomain
    from rdmalab.hca.qp import QueuePair
    from rdmalab.hca.srq import SharedReceiveQueue
    from rdmalab.hca.steering import Flow
    from rdmalab.hca.thread_domains import ThreadDomain
    from rdmalab.hca.wqe import Cqe
    from rdmalab.hca.xrcd import XrcDomain
    from rdmalab.wire.frame import Frame


# From a doorbell or an arriving packet to the packet it causes.
REACTION_NS = 100

# Where a host's first buffer lies, times the host's number: no address means the same on two nodes.
FIRST_ADDRESS = 0x1000_0000
FIRST_SRQN = 0x31  # no number that a QP of a small world has
FULL_PKEY = 0xFFFF
GROUP_QPN = 0xFFFFFF  # whoever is attached to the packet's multicast address
_SENT, _RECEIVED = Kind.PACKET_SENT, Kind.PACKET_RECEIVED


class Hca:
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
        trace: "Recorder",
        network: "Network",
        agenda: "Agenda",
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
        self.pds: Table[ProtectionDomain] = Table("pd", 1)
        self.mrs: Table[MemoryRegion] = Table("mr", 1)
        self.cqs: Table[CompletionQueue] = Table("cq", 1)
        self.qps: Table[QueuePair] = Table("qp", 0x11)  # 0 and 1 are SMI and GSI
        self.ahs: Table[AddressHandle] = Table("ah", 1)
        self.srqs: Table[SharedReceiveQueue] = Table("srq", FIRST_SRQN)
        self.xrcds: Table[XrcDomain] = Table("xrcd", 1)
        self.channels: Table[CompChannel] = Table("channel", 1)
        self.tds: Table[ThreadDomain] = Table("td", 1)
        self.flows: Table[Flow] = Table("flow", 1)
        self.mws: Table[MemoryWindow] = Table("mw", 1)
        every: tuple[Table[Any], ...] = (
            self.pds, self.mrs, self.channels, self.cqs, self.qps, self.ahs, self.srqs, self.xrcds,
            self.tds, self.flows, self.mws,
        )  # fmt: skip
        self.tables: dict[str, Table[Any]] = {table.noun: table for table in every}
        self.lkeys: dict[int, MemoryRegion] = {}
        self.rkeys: dict[int, KeyTarget] = {}

    # ------------------------------------------------------------------ the host's door
    def wake(self, qp: "QueuePair", surely: bool = False) -> None:
        """Queue this QP for the port: it may have something to send; `surely` it has."""
        if self.unavailable_rule:
            return
        if not qp.queued:
            if not (surely or qp.resp.answers) and requester.next_wqe(qp) is None:
                return
            qp.queued = True
            self.ready.append(qp)
        if not self.turn_filed:
            self.turn_filed = True
            at_ns = max(self.now_ns + REACTION_NS, self.busy_until_ns)
            self.agenda.file_port(self.node, at_ns)

    def leave_line(self, qp: "QueuePair") -> None:
        """Remove a destroyed QP from the queue for the port; snapshots rely on it."""
        if qp.queued:
            qp.queued = False
            self.ready.remove(qp)

    # ------------------------------------------------------------------ the clock's doors
    def turn(self, now_ns: int) -> None:
        """Send one packet of the first QP in line that has one; called when the port is free."""
        self.now_ns, ready = now_ns, self.ready
        while ready:  # `turn_filed` is still set: who wakes up meanwhile only gets in line
            if self._send_one(ready.popleft()):
                break
        if ready:
            self.agenda.file_port(self.node, self.busy_until_ns)
        else:
            self.turn_filed = False

    def _send_one(self, qp: "QueuePair") -> bool:
        """One packet. An answer goes first; after a whole answer a request has its turn.

        False if the QP had nothing to send after all.
        """
        qp.queued = False
        if qp.resp.answers and not self._turn_of_requests(qp) and self._answer(qp):
            return True
        wqe = requester.next_wqe(qp)
        if wqe is None:
            return False
        if self.profile.stalls_above_port_mtu and requester.is_stuck(self, qp, wqe):
            return self._answer(qp)
        qp.answered = False
        request = requester.make_packet(self, qp, wqe)
        if request is None:
            completer.settle(self, qp)
            return False
        number = qp.number
        self.trace.record(_SENT, self.node, number, request)
        self.busy_until_ns = self.now_ns + self.network.transmit(self.node, number, request)
        if not qp.transport.acknowledged:
            completer.settle(self, qp)
        elif request.ack_req or self.profile.times_unasked_packets:
            qp.req.asked = qp.req.psn
            if not qp.comp.watching:
                completer.watch(self, qp)  # its answer is owed from now on
        self.wake(qp, wqe.serial == qp.req.serial)  # surely: the rest of its message
        return True

    def _turn_of_requests(self, qp: "QueuePair") -> bool:
        """True if a request is next: continuous READ answers must not block the QP's own sends."""
        return qp.answered and requester.next_wqe(qp) is not None

    def _answer(self, qp: "QueuePair") -> bool:
        owed = len(qp.resp.answers)
        answer = responder.next_answer(self, qp)
        if answer is None:
            return False
        packet, dying = answer
        qp.answered = len(qp.resp.answers) < owed
        self.trace.record(_SENT, self.node, qp.number, packet)
        self.busy_until_ns = self.now_ns + self.network.transmit(self.node, qp.number, packet)
        if dying is not None:
            responder.after_sending(self, qp, dying)
        self.wake(qp)
        return True

    def timer(self, qpn: int, now_ns: int) -> None:
        """A QP's timer has run out."""
        self.now_ns = now_ns
        qp = self.qps.items.get(qpn)
        if qp is not None:
            completer.on_timer(self, qp)

    # ------------------------------------------------------------------ the wire's door
    def receive(self, packet: Packet, now_ns: int) -> None:
        """Process an arriving packet: drop it, or give it to the responder or completer."""
        self.now_ns = now_ns
        if self.flows.items:
            responder.sniff(self, packet)
        number = packet.dest_qp
        if number == GROUP_QPN:
            self._receive_for_group(packet)
            return
        qp = self.qps.items.get(number)
        if reason := admission.at_port(self, packet) or admission.at_qp(qp, packet):
            self.drop(qp, packet, reason)
            if qp is not None and qp.alternate is not None:
                migration.refuse(self, qp, packet, reason)
            return
        assert qp is not None
        self.trace.record(_RECEIVED, self.node, number, packet)
        if qp.alternate is not None:
            migration.follow(self, qp, packet)
        row = OPCODES[packet.opcode]
        if row.request:
            if not qp.resp.received_any:
                responder.mark_established(self, qp)
            responder.RECEIVE[row.service](self, qp, packet, row)
        else:
            completer.receive(self, qp, packet)

    def receive_frame(self, frame: "Frame", now_ns: int) -> None:
        """Deliver a non-RoCE frame."""
        self.now_ns = now_ns
        responder.receive_frame(self, frame)

    def _receive_for_group(self, packet: Packet) -> None:
        """Multicast: a copy for every attached QP."""
        members = self.groups.get(packet.flow.dst, [])
        if reason := admission.at_port(self, packet) or (None if members else "no-group"):
            self.drop(None, packet, reason)
            return
        for number in members:
            qp = self.qps.items[number]
            if reason := admission.at_qp(qp, packet):
                self.drop(qp, packet, reason)
            else:
                self.trace.record(_RECEIVED, self.node, number, packet)
                responder.RECEIVE[packet.opcode_row.service](self, qp, packet, packet.opcode_row)

    def drop(
        self, qp: "QueuePair | None", packet: "Packet | Frame", reason: str, why: str = ""
    ) -> None:
        """Drop and count a packet without an answer; `why`: a more exact reason than `reason`."""
        self.drops[reason] = self.drops.get(reason, 0) + 1
        number = packet.dest_qp if qp is None else qp.number
        self.trace.record(Kind.PACKET_DROPPED, self.node, number, packet, why or reason)

    # ------------------------------------------------------------------ where engines meet
    def go_back(self, qp: "QueuePair", reason: str) -> None:
        """Retransmit from the oldest unacknowledged PSN."""
        requester.go_back(self, qp, reason)

    def cancel_retransmit(self, qp: "QueuePair") -> None:
        """Cancel the pending retransmission of requests that were answered."""
        requester.cancel_retransmit(qp)

    def rewind_unacked(self, qp: "QueuePair") -> None:
        """Reset the send cursor to the oldest unacknowledged request."""
        requester.rewind_unacked(qp)

    def complete(self, qp: "QueuePair", cqn: int, cqe: "Cqe") -> bool:
        """A CQE for this QP; False if its CQ had no room for it."""
        cq = self.cqs.items[cqn]
        cqe.at_ns = self.now_ns
        if cq.push(self.trace, cqe):
            if cq.armed:
                channels.notify(self, cq, cqe)
            return True
        if not cq.dead:
            self.raise_event(AsyncEvent.CQ_ERR, cqn)
        if self.profile.overrun_kills_cq:
            cq.dead = True
            self._fail_users(cqn)
        return False

    def _fail_users(self, cqn: int) -> None:
        """IBA 11.6.3: every QP on an overrun CQ goes to ERR."""
        for qp in list(self.qps.items.values()):
            if cqn in (qp.send_cq, qp.recv_cq) and qp.state not in (QPState.RESET, QPState.ERR):
                self.raise_event(AsyncEvent.QP_FATAL, qp.number)
                flush.fail(self, qp)

    def raise_event(self, event: AsyncEvent, number: int) -> None:
        """Queue an asynchronous event."""
        self.async_events.append((event, number))
        self.trace.record(Kind.ASYNC_RAISED, self.node, number, event, EVENTS[event].noun)
