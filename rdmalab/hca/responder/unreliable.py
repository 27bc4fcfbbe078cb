"""Messages without acknowledgement (UC, transport.md 12): bad ones are dropped unanswered."""

from typing import TYPE_CHECKING

from rdmalab.hca import flush
from rdmalab.hca.psn import MASK
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.responder import checks, execute
from rdmalab.spec.opcodes import Opcode
from rdmalab.spec.records import Kind
from rdmalab.spec.states import QPState
from rdmalab.spec.statuses import WCStatus
from rdmalab.wire.frame import Frame
from rdmalab.wire.packet import Packet

if TYPE_CHECKING:
    from rdmalab.hca.device import Hca


def receive(hca: "Hca", qp: QueuePair, packet: Packet, row: Opcode) -> None:
    """A FIRST or ONLY starts a message, whatever was lost; the rest must follow without gap."""
    resp = qp.resp
    if row.starts:
        resp.op, resp.psn = None, packet.psn
    elif packet.psn != resp.psn or row.op is not resp.op:
        resp.op = None
        hca.drop(qp, packet, "rest-of-message")
        return
    for check in checks.LINES[packet.opcode]:
        if (name := check(hca, qp, packet, row)) is not None:
            refuse(hca, qp, packet, name)
            return
    if (name := execute.EXECUTE[row.op](hca, qp, packet, row)) is not None:
        refuse(hca, qp, packet, name)
        return
    resp.psn = (resp.psn + 1) & MASK


def refuse(hca: "Hca", qp: QueuePair, packet: Packet | Frame, name: str) -> None:
    """Drop the message; its receive WQE is used by the next, unless the WQE is the reason."""
    refusal = hca.profile.refusals[name]
    qp.resp.op = None
    qp.resp.solicited = packet.solicited
    if not refusal.breaks:
        hca.drop(qp, packet, name)
        return
    hca.trace.record(Kind.REQUEST_REFUSED, hca.node, qp.number, packet, name)
    if qp.state is not QPState.ERR:  # an overrun CQ may have killed it already
        flush.fail(hca, qp, refusal.status or WCStatus.WR_FLUSH_ERR)
