"""A node's open device: closed with all its objects, opened again, or failed.

A failed device does nothing: no packet, no CQE, only the event DEVICE_FATAL. CQEs already in its
CQs can be polled and objects can be destroyed; every other call returns EIO.
"""

from collections.abc import Callable
from typing import Any

from rdmalab.command import Noun
from rdmalab.hca import flush, lifecycle, mr, port
from rdmalab.hca.adapter import Adapter
from rdmalab.hca.errors import refused
from rdmalab.hca.qp import QueuePair
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.limits import PortState
from rdmalab.spec.records import Kind

CLOSED, DEAD = "device-closed", "device-fatal"

# Whoever uses something goes before it.
TEARDOWN = (
    Noun.FLOW, Noun.QP, Noun.AH, Noun.MW, Noun.MR, Noun.SRQ, Noun.CQ, Noun.CHANNEL, Noun.XRCD,
    Noun.TD, Noun.PD,
)  # fmt: skip


def close(hca: Adapter) -> None:
    """`ibv_close_device`: the kernel frees all remaining objects; EBUSY never occurs."""
    if hca.unavailable_rule == CLOSED:
        raise refused(hca.profile, CLOSED, legal=f"open_device {hca.node}")
    for noun in TEARDOWN:
        if (table := hca.tables.get(noun)) is not None:
            for item in list(table.items.values()):
                _FREE.get(noun, _free)(hca, item)
    hca.async_events.clear()
    hca.unavailable_rule = CLOSED
    hca.trace.record(Kind.DEVICE_CLOSED, hca.node, 0)


def _free(hca: Adapter, item: Any) -> None:
    table = next(t for t in hca.tables.values() if t.items.get(item.number) is item)
    lifecycle.destroyed(hca, table, item)


def _free_qp(hca: Adapter, qp: QueuePair) -> None:
    # ib_uverbs_detach_umcast: the end of a context leaves the groups, where destroy_qp is refused.
    hca.groups = {gid: rest for gid, qps in hca.groups.items() if (rest := _without(qps, qp))}
    flush.discard(hca, qp)
    lifecycle.destroyed(hca, hca.qps, qp)


def _without(members: list[int], qp: QueuePair) -> list[int]:
    return [number for number in members if number != qp.number]


_FREE: dict[Noun, Callable[[Adapter, Any], None]] = {Noun.QP: _free_qp, Noun.MR: mr.deregister}


def reopen(hca: Adapter, port_state: PortState) -> None:
    """`ibv_open_device` after a close; a device that died has been reset meanwhile."""
    hca.unavailable_rule = ""
    hca.trace.record(Kind.DEVICE_OPENED, hca.node, 0)
    port.set_state(hca, port_state)


def fail_device(hca: Adapter) -> None:
    """A local catastrophic error."""
    hca.trace.record(Kind.DEVICE_DIED, hca.node, 0)
    hca.raise_event(AsyncEvent.DEVICE_FATAL, 0)
    port.set_state(hca, PortState.DOWN)
    hca.unavailable_rule = DEAD
    hca.ready.clear()
    for qp in hca.qps.items.values():
        qp.queued = False
        flush.stop_timers(hca, qp)
