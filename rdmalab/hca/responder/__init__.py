"""The responder: checks requests by a list of named checks, executes them, answers them.

Writes only `qp.resp`.
"""

from collections.abc import Callable

from rdmalab.hca.adapter import Adapter
from rdmalab.hca.psn import MASK
from rdmalab.hca.qp import QueuePair, Responding
from rdmalab.hca.responder import answer, checks, execute, unreliable
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.opcodes import ANSWER, Opcode, Service
from rdmalab.spec.states import QPState
from rdmalab.wire.packet import Packet

next_answer = answer.next_answer
after_sending = answer.after_sending
receive_frame = unreliable.receive_frame
sniff = unreliable.sniff


def begin(qp: QueuePair) -> None:
    """A new first PSN to expect."""
    qp.resp = Responding()
    qp.resp.psn = qp.attr.rq_psn or 0


def _receive_reliable(hca: Adapter, qp: QueuePair, packet: Packet, row: Opcode) -> None:
    """Every request gets its answer, in order."""
    resp = qp.resp
    # The PSN comes before all other checks: nothing of a duplicate may be executed again.
    if packet.psn != resp.psn or resp.dying:
        _receive_out_of_order(hca, qp, packet)
        return
    resp.nak_sent = False  # the gap is closed, whatever becomes of this packet
    for check in checks.NEXT_LINES[resp.op][packet.opcode]:
        if (name := check(hca, qp, packet, row)) is not None:
            if hca.profile.refusals[name].takes_receive and checks.takes_receive(row):
                execute.take_receive(hca, qp, packet)
            answer.refuse(hca, qp, packet, name)
            return
    resp.rnr_sent = False
    if (name := execute.EXECUTE[row.op](hca, qp, packet, row)) is not None:
        answer.refuse(hca, qp, packet, name)
        return
    resp.psn = (resp.psn + 1) & MASK
    # READs and atomics have answers of their own, which acknowledge all before them, too.
    if packet.ack_req and row.op not in ANSWER:
        answer.acknowledge(hca, qp, packet.psn)


def _receive_out_of_order(hca: Adapter, qp: QueuePair, packet: Packet) -> None:
    """Too old, too new, or too late."""
    if checks.is_duplicate(qp, packet):
        answer.answer_again(hca, qp, packet)
    else:
        answer.refuse(hca, qp, packet, checks.out_of_order(hca, qp))


def mark_established(hca: Adapter, qp: QueuePair) -> None:
    """The first packet of the peer; where there is no connection, none is established by it."""
    qp.resp.received_any = True
    connects = qp.state is QPState.RTR and qp.transport.connected
    if connects and hca.profile.raises_responder_events:
        hca.raise_event(AsyncEvent.COMM_EST, qp.number)


# What becomes of a request that has arrived.
RECEIVE: dict[Service, Callable[[Adapter, QueuePair, Packet, Opcode], None]] = {
    Service.RC: _receive_reliable,
    Service.XRC: _receive_reliable,
    Service.UC: unreliable.receive,
    Service.UD: unreliable.receive_datagram,
}
