"""The adapter: the interface of host, wire and clock, and the only link between its engines.

The host posts work and calls `wake`. The wire calls `receive`. The clock calls `turn` (the port may
send a packet) and `timer`. Calls from one engine to another go through this class.
"""

from rdmalab.hca import admission, channels, completer, flush, migration, requester, responder
from rdmalab.hca.adapter import Adapter
from rdmalab.hca.qp import QueuePair, ReadAnswer
from rdmalab.hca.wr import Cqe
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.opcodes import OPCODES
from rdmalab.spec.records import Kind
from rdmalab.spec.states import QPState
from rdmalab.wire.frame import Frame
from rdmalab.wire.packet import Packet

# From a doorbell or an arriving packet to the packet it causes.
REACTION_NS = 100

GROUP_QPN = 0xFFFFFF  # whoever is attached to the packet's multicast address
_SENT, _RECEIVED = Kind.PACKET_SENT, Kind.PACKET_RECEIVED


class Hca(Adapter):
    """One node's adapter: its engines, and when each of them acts."""

    __slots__ = ()

    # ------------------------------------------------------------------ the host's door
    def wake(self, qp: QueuePair, surely: bool = False) -> None:
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

    @property
    def may_read_next(self) -> bool:
        """Whether the next turn of the port may read memory: for a request or a READ response."""
        for qp in self.ready:
            if qp.req.serial != qp.sq.posted:
                return True
            if any(isinstance(answer, ReadAnswer) for answer in qp.resp.answers):
                return True
        return False

    def _send_one(self, qp: QueuePair) -> bool:
        """Send one packet. An answer goes first; after a whole answer a request has its turn.

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

    def _turn_of_requests(self, qp: QueuePair) -> bool:
        """True if a request is next: continuous READ answers must not block the QP's own sends."""
        return qp.answered and requester.next_wqe(qp) is not None

    def _answer(self, qp: QueuePair) -> bool:
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
        reason = admission.at_port(self, packet)
        if reason is not None or qp is None:
            self._drop(qp, packet, reason or "wrong-qpn")
            return
        row = OPCODES[packet.opcode]
        if (reason := admission.at_qp(qp, packet, row)) is not None:
            self._drop(qp, packet, reason)
            return
        self.trace.record(_RECEIVED, self.node, number, packet)
        if qp.alternate is not None:
            migration.follow(self, qp, packet)
        if row.request:
            if not qp.resp.received_any:
                responder.mark_established(self, qp)
            responder.RECEIVE[row.service](self, qp, packet, row)
        else:
            completer.receive(self, qp, packet)

    def _drop(self, qp: QueuePair | None, packet: Packet, reason: str) -> None:
        self.drop(qp, packet, reason)
        if qp is not None and qp.alternate is not None:
            migration.refuse(self, qp, packet, reason)

    def receive_frame(self, frame: Frame, now_ns: int) -> None:
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
            qp, row = self.qps.items[number], packet.opcode_row
            if reason := admission.at_qp(qp, packet, row):
                self.drop(qp, packet, reason)
            else:
                self.trace.record(_RECEIVED, self.node, number, packet)
                responder.RECEIVE[row.service](self, qp, packet, row)

    # ------------------------------------------------------------------ where engines meet
    def go_back(self, qp: QueuePair, reason: str) -> None:
        """Retransmit from the oldest unacknowledged PSN."""
        requester.go_back(self, qp, reason)

    def cancel_retransmit(self, qp: QueuePair) -> None:
        """Cancel the pending retransmission of requests that were answered."""
        requester.cancel_retransmit(qp)

    def rewind_unacked(self, qp: QueuePair) -> None:
        """Reset the send cursor to the oldest unacknowledged request."""
        requester.rewind_unacked(qp)

    def complete(self, qp: QueuePair, cqn: int, cqe: Cqe) -> bool:
        """Add a CQE for this QP; returns False if its CQ had no room for it."""
        cq = self.cqs.items[cqn]
        cqe.at_ns = self.now_ns
        if cq.push(self.trace, cqe):
            if cq.armed:
                channels.notify(self, cq, cqe)
            return True
        # Where the CQ goes on, each CQE that is lost raises one event, as on Soft-RoCE (measured).
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
