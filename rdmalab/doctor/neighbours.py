"""The things that can have to do with a thing: connected to it, using it, named by one thread.

What happens to all others changes nothing for it, so a question about it leaves them out.
"""

import re
from collections.abc import Iterator
from typing import TypeAlias

from rdmalab.command import Noun, Thing
from rdmalab.session.history import History
from rdmalab.session.session import Session
from rdmalab.wire.packet import Packet
from rdmalab.world.event_queue import Door, Entry
from rdmalab.world.program_state import Program
from rdmalab.world.programs import programs_of
from rdmalab.world.relations import peer_thing, used_by
from rdmalab.world.world import World

Part: TypeAlias = frozenset[Thing]
_NAME = re.compile(r"\b([A-Za-z]\w*)(?:\.([A-Za-z_]\w*))?")
_DATAGRAMS = Thing(Noun.NODE, "", 0)  # what may talk to any other of its kind


def part_of(session: Session, thing: Thing) -> Part:
    """A thing and all that it can have to do with; of a node everything."""
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
    for line in program.lines:
        for node, name in _NAME.findall(line.text):
            thing = session.names.find(f"{node}.{name}" if name else node)
            if thing is not None and thing.noun is not Noun.NODE:
                yield thing
            elif not name[-1:].isdigit() and (hca := session.world.nodes.get(node)):
                yield from (Thing(Noun.QP, node, number) for number in hca.qps.items)


def planned(world: World, part: Part) -> list[Entry]:
    """What is scheduled that concerns a part, earliest first."""
    return [entry for entry in world.agenda.plans() if _concerns(world, entry, part)]


def _concerns(world: World, entry: Entry, part: Part) -> bool:
    _, _, door, node, argument, _ = entry
    if door == Door.PROGRAM:
        return _thread(argument) in part
    if door == Door.TIMER:
        return Thing(Noun.QP, node, argument) in part
    if door == Door.PORT:
        return any(Thing(Noun.QP, node, qp.number) in part for qp in world.nodes[node].ready)
    known = isinstance(argument, Packet) and Thing(Noun.QP, node, argument.dest_qp) in part
    stray = not isinstance(argument, Packet) or argument.deth is not None
    return known or (stray and (_DATAGRAMS in part or door == Door.HOST))


def _thread(program: Program) -> Thing:
    return Thing(Noun.PROGRAM, program.node, program.number)


def leave_out_others(world: World, part: Part) -> None:
    """In a trial: drop what is scheduled for others; of timers only what is armed stays."""
    agenda = world.agenda
    agenda.heap[:] = [entry for entry in agenda.heap if _concerns(world, entry, part)]


def last_events(history: History, part: Part, most: int) -> list[int]:
    """After which events a part had changed, found by its snapshots; the newest first.

    One event for each pair of snapshots between which it changed, at most so many.
    """
    found: list[int] = []
    snapshots = history.branch.snapshots
    keys = [(t.node, str(t.noun), t.number) for t in part if t.noun in (Noun.QP, Noun.PROGRAM)]
    for before, after in zip(snapshots[-2::-1], snapshots[:0:-1], strict=True):
        if len(found) < most and any(
            before.images.get(key) != after.images.get(key) for key in keys
        ):
            found.append(after.place.event)
    return found
