"""Checks of a port on an arriving packet, before any engine gets it; a failure drops the packet.

Each function returns the name of a row of DROPS in `spec/refusals.py`, or None (transport.md 10).
"""

from collections import Counter

from rdmalab.hca import completer, migration
from rdmalab.hca.adapter import Adapter
from rdmalab.hca.port import FULL_MEMBER, share_partition
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.responder import execute
from rdmalab.spec.limits import PortState
from rdmalab.spec.opcodes import OPCODES, Opcode
from rdmalab.spec.states import QPState, QPType
from rdmalab.spec.work import WORK
from rdmalab.wire.packet import Flow, LidFlow, Packet, is_multicast

_ACTIVE = PortState.ACTIVE
_ANSWERS_FROM = QPState.RTS
# The requests that one send opcode alone asks for: a device that lacks it drops them.
_MESSAGES = Counter(work.message for work in WORK.values())
_ASKED_BY = {
    code: (QPType.RC, opcode)
    for opcode, work in WORK.items()
    for code, row in OPCODES.items()
    if row.op is work.message and _MESSAGES[row.op] == 1
}
_EVERYWHERE = frozenset(
    code
    for code, row in OPCODES.items()
    if (row.op in execute.EXECUTE or row.op in completer.ANSWERS) and code not in _ASKED_BY
)


def at_port(hca: Adapter, packet: Packet) -> str | None:
    """The reason to drop a packet at the port; None if port, address and opcode are right."""
    # What is dropped here or in `at_qp` gets no NAK: a counter moves, and an RC sender learns of it
    # by its timeout (transport.md 10).
    if hca.port_state is not _ACTIVE:
        return "port-down"
    if (hca.lids or packet.flow.dst not in hca.gids) and (reason := _misled(hca, packet.flow)):
        return reason
    if packet.opcode in _EVERYWHERE:
        return None
    known = packet.opcode in _ASKED_BY and _ASKED_BY[packet.opcode] not in hca.profile.lacks
    return None if known else "unknown-opcode"


def _misled(hca: Adapter, flow: Flow) -> str | None:
    """Reason a packet is not for this port: link layer, or its LID, GID or multicast address."""
    if isinstance(flow, LidFlow) is not bool(hca.lids):
        return "wrong-link-layer"
    if not isinstance(flow, LidFlow):
        return None if is_multicast(flow.dst) else "wrong-address"
    mine = flow.dst in hca.lids and (not flow.has_grh or flow.dgid in hca.gids)
    return None if mine else "wrong-address"


def at_qp(qp: QueuePair, packet: Packet, row: Opcode) -> str | None:
    """The reason to drop a packet at the QP; None if it is ready and the packet is its peer's."""
    # An opcode of another transport is dropped: RC packets to a UC QP end in RETRY_EXC_ERR.
    if row.service is not qp.service or (row.request and not qp.transport.receives):
        return "wrong-type"
    # requests from RTR on, answers from RTS on, nothing in ERR
    if not qp.state_row.receives or (not row.request and qp.state < _ANSWERS_FROM):
        return "not-ready"
    path = qp.path if qp.alternate is None else migration.path_of(qp, packet)
    if path is None or (qp.transport.connected and packet.flow.src != path.flow.dst):
        return "wrong-source"
    # full members of one partition need no second look
    if not packet.pkey == path.pkey > FULL_MEMBER and not share_partition(packet.pkey, path.pkey):
        return "pkey"
    return "qkey" if packet.deth is not None and packet.deth.qkey != qp.attr.qkey else None
