"""A session at rest: the agenda is empty, or threads repeat lines that change nothing.

That threads repeat is proven: each comes back to the line and the loop counts it had, and nothing
but polls in vain is recorded meanwhile. A world that has not changed then never changes.
"""

from rdmalab.session.session import Session
from rdmalab.session.visits import undone_afterwards
from rdmalab.spec.records import A, Kind, Record, kind_of, node_of, object_of
from rdmalab.world.event_queue import Door
from rdmalab.world.program_state import Program
from rdmalab.world.programs import running

MOST_LINES = 256
"""So many lines of threads are tried; a longer loop counts as progress."""

_VAIN = frozenset((Kind.PROGRAM_RAN, Kind.REFUSED, Kind.CALLED, Kind.CQ_ARMED))
_ASKING = ("poll_cq", "req_notify_cq", "get_cq_event", "get_async_event", "query_qp", "query_port")
_CLOCK = "now"


def at_rest(session: Session) -> bool:
    """Whether nothing changes without another call."""
    agenda = session.world.agenda
    if agenda.next_ns() is None:
        return True
    planned = {entry[2] for entry in agenda.heap}
    if agenda.armed or planned != {Door.PROGRAM}:
        return False
    return _repeats(session)


def in_vain(record: Record) -> bool:
    """Whether a record of a thread says that it has looked, and found nothing new."""
    kind = kind_of(record)
    return kind in _VAIN and (kind is not Kind.CALLED or record[A] in _ASKING)


def _repeats(session: Session) -> bool:
    """Whether every thread that runs comes back to where it is, and has changed nothing."""
    world = session.world
    threads = running(world)
    if any(_CLOCK in line.text.split() for thread in threads for line in thread.lines):
        return False
    home = {_thing(thread): _place(thread) for thread in threads}
    first = world.trace.latest + 1
    with undone_afterwards(session.history):
        for _ in range(MOST_LINES):
            session.history.run(1)
            records = world.trace.since(first)
            if not all(map(in_vain, records)):
                return False
            first = world.trace.latest + 1
            ran = {(node_of(r), object_of(r)) for r in records if kind_of(r) is Kind.PROGRAM_RAN}
            for thread in running(world):
                if _thing(thread) in ran and home.get(_thing(thread)) == _place(thread):
                    del home[_thing(thread)]
            if not home:
                return True
    return False


def _thing(thread: Program) -> tuple[str, int]:
    return thread.node, thread.number


def _place(thread: Program) -> tuple[int, tuple[int, ...]]:
    return thread.at, tuple(thread.loops)
