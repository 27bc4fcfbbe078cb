"""Automatic path migration of connected queue pairs on InfiniBand (IBA 17.2.8).

Software loads an alternate path and sets REARM. A packet with MigReq=0 makes REARM to ARMED: both
ends have a path loaded. An ARMED QP whose retries are exhausted changes to the alternate path:
MIGRATED, MigReq=1. A packet with MigReq=1 on the alternate path makes the peer change too.
"""

from dataclasses import replace

from rdmalab.hca.adapter import Adapter
from rdmalab.hca.qp import Path, QueuePair
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.records import Kind
from rdmalab.spec.states import MigState
from rdmalab.wire.packet import Packet

_MIGRATED, _REARM, _ARMED = MigState.MIGRATED, MigState.REARM, MigState.ARMED

# Drop reasons of packets with MigReq=1 that were a request to migrate. In ARMED: the packet did not
# come on the alternate path. In REARM: it did not come on the path in use either.
_NOT_ACCEPTED = {_ARMED: ("wrong-source", "pkey"), _REARM: ("wrong-source",)}


def is_armed(qp: QueuePair) -> bool:
    """True if the QP may change to its alternate path now."""
    return qp.alternate is not None and qp.attr.path_mig_state == _ARMED


def path_of(qp: QueuePair, packet: Packet) -> Path | None:
    """The path that a packet must have come on: MigReq=1 asks an armed QP for the alternate one."""
    return qp.alternate if packet.migrated and is_armed(qp) else qp.path


def follow(hca: Adapter, qp: QueuePair, packet: Packet) -> None:
    """Migrate, or become ARMED, as the MigReq bit of an accepted packet asks."""
    if packet.migrated:
        if is_armed(qp):
            migrate(hca, qp)
    elif qp.attr.path_mig_state == _REARM:
        _enter(hca, qp, _ARMED)


def migrate(hca: Adapter, qp: QueuePair) -> None:
    """The alternate path becomes the path, with all its attributes; it stays loaded."""
    attr, alternate = qp.attr, qp.alternate
    assert alternate is not None
    attr.ah_attr, attr.port_num = attr.alt_ah_attr, attr.alt_port_num
    attr.pkey_index, attr.timeout = attr.alt_pkey_index, attr.alt_timeout
    qp.path = replace(alternate, migrated=True)
    _enter(hca, qp, _MIGRATED)
    hca.raise_event(AsyncEvent.PATH_MIG, qp.number)


def refuse(hca: Adapter, qp: QueuePair, packet: Packet, reason: str) -> None:
    """PATH_MIG_ERR if the dropped packet was a request to migrate."""
    state = MigState(qp.attr.path_mig_state or 0)
    if packet.migrated and reason in _NOT_ACCEPTED.get(state, ()):
        hca.raise_event(AsyncEvent.PATH_MIG_ERR, qp.number)


def _enter(hca: Adapter, qp: QueuePair, state: MigState) -> None:
    before, qp.attr.path_mig_state = qp.attr.path_mig_state, state
    hca.trace.record(Kind.MIGRATION_CHANGED, hca.node, qp.number, before, state)
