"""Asynchronous events of a node that no call has read."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.finding import Evidence, fact
from rdmalab.spec.records import Kind, async_event_of, event_of


def unread_events(case: Case) -> list[Evidence]:
    """`2 asynchronous events of B are unread, the oldest GID_CHANGE`; nothing if all are read."""
    unread = case.hca.async_events
    if not unread:
        return []
    raised = case.log.of(Kind.ASYNC_RAISED, case.node)
    oldest = unread[0][0]
    at = next((event_of(r) for r in raised[-len(unread) :] if async_event_of(r) is oldest), None)
    many = f"{len(unread)} asynchronous events of {case.node} are"
    many = many if len(unread) > 1 else f"1 asynchronous event of {case.node} is"
    return [fact(f"{many} unread, the oldest {oldest.name}", at)]
