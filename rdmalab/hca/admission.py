"""What a port asks of an arriving packet before any engine sees it; each failure is silence.

Each check names a row of DROPS in `spec/refusals.py`, or nothing (transport.md 10).
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from rdmalab.hca import completer
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.responder import execute
from rdmalab.spec.limits import PortState
from rdmalab.spec.opcodes import OPCODES
from rdmalab.spec.states import STATES, QPState
from rdmalab.wire.packet import Packet

if TYPE_CHECKING:
    from rdmalab.hca.device import Hca

_FULL_MEMBER = 0x8000
_ANSWERS_FROM = QPState.RTS
_DONE_HERE = frozenset({*execute.EXECUTE, *completer.ANSWERS})


def check_port(hca: "Hca", _qp: QueuePair | None, _packet: Packet) -> str | None:
    return None if hca.port_state is PortState.ACTIVE else "port-down"


def check_address(hca: "Hca", _qp: QueuePair | None, packet: Packet) -> str | None:
    return None if packet.flow.dst in hca.gids else "wrong-address"


def check_opcode(_hca: "Hca", _qp: QueuePair | None, packet: Packet) -> str | None:
    """It exists, and an engine here can do it."""
    row = OPCODES.get(packet.opcode)
    return None if row is not None and row.op in _DONE_HERE else "unknown-opcode"


def check_qpn(_hca: "Hca", qp: QueuePair | None, _packet: Packet) -> str | None:
    return None if qp is not None else "wrong-qpn"


def check_type(_hca: "Hca", qp: QueuePair | None, packet: Packet) -> str | None:
    assert qp is not None
    return None if OPCODES[packet.opcode].service is qp.service else "wrong-type"


def check_state(_hca: "Hca", qp: QueuePair | None, packet: Packet) -> str | None:
    """Requests from RTR on, answers from RTS on, nothing in ERR."""
    assert qp is not None
    ready = STATES[qp.state].receives
    if not OPCODES[packet.opcode].request:
        ready = ready and qp.state >= _ANSWERS_FROM
    return None if ready else "not-ready"


def check_source(_hca: "Hca", qp: QueuePair | None, packet: Packet) -> str | None:
    assert qp is not None
    path = qp.path
    return None if path is not None and packet.flow.src == path.flow.dst else "wrong-source"


def check_pkey(_hca: "Hca", qp: QueuePair | None, packet: Packet) -> str | None:
    """IBA 10.9.3: the same partition, and one of the two at least a full member."""
    assert qp is not None
    assert qp.path is not None
    theirs, ours = packet.pkey, qp.path.pkey
    same = (theirs ^ ours) & ~_FULL_MEMBER == 0 and theirs & ~_FULL_MEMBER != 0
    return None if same and (theirs | ours) & _FULL_MEMBER else "pkey"


CHECKS: tuple[Callable[["Hca", QueuePair | None, Packet], str | None], ...] = (
    check_port,
    check_address,
    check_opcode,
    check_qpn,
    check_type,
    check_state,
    check_source,
    check_pkey,
)
