"""The things that can have to do with a thing: connected to it, using it, named by one thread.

What happens to all others changes nothing for it, so a question about it leaves them out.
"""

from collections.abc import Iterator
from typing import TypeAlias

from rdmalab.command import Noun, Thing
from rdmalab.doctor.named import things_of
from rdmalab.session.history import History
from rdmalab.session.session import Session
from rdmalab.wire.packet import Packet
from rdmalab.world.event_queue import Door, Entry
from rdmalab.world.program_state import Program
from rdmalab.world.programs import programs_of
from rdmalab.world.relations import peer_thing, used_by
from rdmalab.world.world import World

Component: TypeAlias = frozenset[Thing]
_DATAGRAMS = Thing(Noun.NODE, "", 0)  # what may talk to any other of its kind


def component_of(session: Session, thing: Thing) -> Component:
    """A thing and all that it can have to do with; of a node or what is destroyed, everything."""
    links: dict[Thing, set[Thing]] = {}
    for one, other in _links(session):
        links.setdefault(one, set()).add(other)
        links.setdefault(other, set()).add(one)
    found, new = {thing}, [thing]
    while new:
        more = links.get(new.pop(), set()) - found
        found |= more
        new += more
    return frozenset(found)


def _links(session: Session) -> Iterator[tuple[Thing, Thing]]:
    world = session.world
    for node, hca in world.nodes.items():
        for noun, table in hca.tables.items():
            for number in table.items:
                thing = Thing(Noun(noun), node, number)
                yield from ((thing, used) for used in used_by(world, thing))
        for number, qp in hca.qps.items.items():
            peer = peer_thing(world, qp) if qp.transport.connected else _DATAGRAMS
            if peer is not None:
                yield Thing(Noun.QP, node, number), peer
    for program in programs_of(world):
        thread = Thing(Noun.PROGRAM, program.node, program.number)
        yield from ((thread, thing) for thing in _named(session, program))


def _named(session: Session, program: Program) -> Iterator[Thing]:
    """What the lines of a thread name; of a node, as in `get_async_event A`, its queue pairs."""
    for thing in (each for line in program.lines for each in things_of(session, line)):
        if thing.noun is Noun.NODE:
            qps = session.world.nodes[thing.node].qps.items
            yield from (Thing(Noun.QP, thing.node, number) for number in qps)
        else:
            yield thing


def planned(world: World, component: Component) -> list[Entry]:
    """What is scheduled that concerns a component, earliest first."""
    return [entry for entry in world.agenda.plans() if _concerns(world, entry, component)]


def _concerns(world: World, entry: Entry, component: Component) -> bool:
    _, _, door, node, argument, _ = entry
    if door == Door.PROGRAM:
        return _thread(argument) in component
    if door == Door.TIMER:
        return Thing(Noun.QP, node, argument) in component
    if door == Door.PORT:
        return any(Thing(Noun.QP, node, qp.number) in component for qp in world.nodes[node].ready)
    carried = argument[0] if isinstance(argument, tuple) else argument  # what arrived as garbage
    if not isinstance(carried, Packet) or door == Door.HOST:
        return _DATAGRAMS in component or door == Door.HOST
    datagram = carried.deth is not None and _DATAGRAMS in component
    return datagram or Thing(Noun.QP, node, carried.dest_qp) in component


def _thread(program: Program) -> Thing:
    return Thing(Noun.PROGRAM, program.node, program.number)


def leave_out_others(world: World, component: Component) -> None:
    """In a trial: drop what is scheduled for others; of timers only what is armed stays."""
    agenda = world.agenda
    agenda.heap[:] = [entry for entry in agenda.heap if _concerns(world, entry, component)]


def last_change(history: History, component: Component) -> int | None:
    """The event of the first snapshot that shows a component as it is now; None if it was ever so.

    None as well where no snapshot differs from the next one.
    """
    snapshots = history.branch.snapshots
    keys = [(t.node, str(t.noun), t.number) for t in component if t.noun in (Noun.QP, Noun.PROGRAM)]
    for before, after in zip(snapshots[-2::-1], snapshots[:0:-1], strict=True):
        if any(before.images.get(key) != after.images.get(key) for key in keys):
            return after.place.event
    return None
