"""Asynchronous events: one queue per node; an event must be acknowledged before its object is
destroyed.
"""

from collections import deque

from rdmalab.hca.adapter import Adapter
from rdmalab.hca.errors import refused
from rdmalab.spec.async_events import EVENTS, AsyncEvent
from rdmalab.spec.records import Kind

# An event, and the number of the object that it names.
Raised = tuple[AsyncEvent, int]


def take(hca: Adapter) -> Raised:
    """`ibv_get_async_event`, never blocking."""
    if not hca.async_events:
        legal = "the device raises them: show events lists those not yet read"
        raise refused(hca.profile, "async-none", argument="node", legal=legal)
    # One queue a device: each event is read once, by whichever thread asks first.
    event, number = hca.async_events.popleft()
    hca.async_unacked.append((event, number))
    hca.trace.record(Kind.ASYNC_TAKEN, hca.node, number, event, EVENTS[event].noun)
    return event, number


def names(raised: Raised, noun: str, number: int) -> bool:
    """True if the event is about this object."""
    return EVENTS[raised[0]].noun == noun and raised[1] == number


def acknowledge(hca: Adapter, wanted: AsyncEvent | None, of: tuple[str, int] | None) -> None:
    """`ibv_ack_async_event`: the oldest taken event of this kind, of this object, or of any."""
    for index, raised in enumerate(hca.async_unacked):
        fits = of is None or names(raised, *of)
        if fits and wanted in (None, raised[0]):
            event, number = hca.async_unacked.pop(index)
            hca.trace.record(Kind.ASYNC_ACKED, hca.node, number, event, EVENTS[event].noun)
            return
    what = f"this {of[0]}" if of else hca.node
    legal = "get_async_event reads one"
    raise refused(hca.profile, "async-ack", what, argument="what", legal=legal)


def check_acked(hca: Adapter, noun: str, number: int) -> None:
    """Refuse to destroy an object while events about it are read and not acknowledged."""
    # ibv_get_async_event(3): in C the destroy call blocks until these are acknowledged.
    count = sum(names(raised, noun, number) for raised in hca.async_unacked)
    if count:
        raise refused(
            hca.profile, "async-unacked", count, argument=noun, legal="ack_async_event first"
        )


def discard(hca: Adapter, noun: str, number: int) -> None:
    """Remove the unread events about an object that is destroyed."""
    kept = deque(raised for raised in hca.async_events if not names(raised, noun, number))
    if lost := len(hca.async_events) - len(kept):
        hca.async_events = kept
        hca.trace.record(Kind.EVENTS_DISCARDED, hca.node, number, lost, noun)
