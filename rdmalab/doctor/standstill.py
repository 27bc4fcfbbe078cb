"""A session at rest: the agenda is empty, or threads repeat lines that change nothing.

That threads repeat is proven: each comes back to the line and the loop counts it had, and nothing
but polls in vain is recorded meanwhile. A world that has not changed then never changes.
"""

from rdmalab.command import Noun, Thing
from rdmalab.doctor.components import Component, leave_out_others, planned
from rdmalab.session.session import Session
from rdmalab.session.visits import undone_afterwards
from rdmalab.spec.records import Kind, Record, kind_of, node_of, object_of, verb_of
from rdmalab.world.event_queue import Door
from rdmalab.world.program_state import Program
from rdmalab.world.programs import running

MOST_LINES = 256
"""So many lines of threads are tried; a longer loop counts as progress."""

_IDLE_KINDS = frozenset((Kind.PROGRAM_RAN, Kind.REFUSED, Kind.CALLED, Kind.CQ_ARMED))
_ASKING = ("poll_cq", "req_notify_cq", "get_cq_event", "get_async_event", "query_qp", "query_port")
_CLOCK = "now"


def at_rest(session: Session, component: Component) -> bool:
    """Whether nothing changes for a component of the world without another call."""
    coming = planned(session.world, component)
    if any(entry[2] != Door.PROGRAM for entry in coming):
        return False
    return not coming or _repeats(session, component)


def changes_nothing(record: Record) -> bool:
    """Whether a record of a thread says that it has looked, and found nothing new."""
    kind = kind_of(record)
    return kind in _IDLE_KINDS and (kind is not Kind.CALLED or verb_of(record) in _ASKING)


def _repeats(session: Session, component: Component) -> bool:
    """Whether every thread that runs comes back to where it is, and has changed nothing."""
    world = session.world
    threads = [thread for thread in running(world) if _thing(thread) in component]
    if any(_CLOCK in line.text.split() for thread in threads for line in thread.lines):
        return False
    about = {(thing.node, thing.number) for thing in component}
    home = {_thing(thread): _place(thread) for thread in threads}
    first = world.trace.latest + 1
    with undone_afterwards(session.history):
        leave_out_others(world, component)
        for _ in range(MOST_LINES):
            session.history.run(1)
            records = [r for r in world.trace.since(first) if (node_of(r), object_of(r)) in about]
            if not all(map(changes_nothing, records)):
                return False
            first = world.trace.latest + 1
            ran = {_runner(r) for r in records if kind_of(r) is Kind.PROGRAM_RAN}
            for thread in running(world):
                if _thing(thread) in ran and home.get(_thing(thread)) == _place(thread):
                    del home[_thing(thread)]
            if not home:
                return True
    return False


def _runner(record: Record) -> Thing:
    return Thing(Noun.PROGRAM, node_of(record), object_of(record))


def _thing(thread: Program) -> Thing:
    return Thing(Noun.PROGRAM, thread.node, thread.number)


def _place(thread: Program) -> tuple[int, tuple[int, ...]]:
    return thread.at, tuple(thread.loops)
