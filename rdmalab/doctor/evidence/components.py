"""Things that have to do with each other: those that a line names, and all that these reach."""

from collections.abc import Iterator
from heapq import heapify
from typing import TypeAlias

from rdmalab.command import Invocation, New, Noun, Ref, Thing
from rdmalab.grammar.nodes import Node
from rdmalab.grammar.program import Line
from rdmalab.grammar.trees import paths
from rdmalab.hca.completer import waits_without_limit
from rdmalab.session.history import History, undone_afterwards
from rdmalab.session.session import Session
from rdmalab.spec.records import Kind, Record, errno_of, kind_of, node_of, object_of, verb_of
from rdmalab.wire.packet import Packet
from rdmalab.world.event_queue import Door, Entry
from rdmalab.world.programs import Program, programs_of, running
from rdmalab.world.relations import exists, find_qp, peer_of, peer_thing, used_by
from rdmalab.world.snapshots import take
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
        yield from ((program.thing, thing) for thing in _named(session, program))


def _named(session: Session, program: Program) -> Iterator[Thing]:
    """Things that lines of a thread name; of a node (`get_async_event A`) its queue pairs."""
    for thing in (each for line in program.lines for each in things_of(session, line)):
        if thing.noun is Noun.NODE:
            qps = session.world.nodes[thing.node].qps.items
            yield from (Thing(Noun.QP, thing.node, number) for number in qps)
        else:
            yield thing


def everything(world: World) -> Component:
    """All that lives."""
    things = (Thing(Noun(noun), node, number) for node, hca in world.nodes.items()
              for noun, table in hca.tables.items() for number in table.items)  # fmt: skip
    return frozenset([_DATAGRAMS, *things])


def planned(world: World, component: Component) -> list[Entry]:
    """Scheduled entries that concern a component, earliest first."""
    return [entry for entry in world.agenda.plans() if _concerns(world, entry, component)]


def _concerns(world: World, entry: Entry, component: Component) -> bool:
    _, _, door, node, argument, _ = entry
    if door == Door.PROGRAM:
        return argument.thing in component
    if door == Door.TIMER:
        return Thing(Noun.QP, node, argument) in component
    if door == Door.PORT:
        return any(Thing(Noun.QP, node, qp.number) in component for qp in world.nodes[node].ready)
    carried = argument[0] if isinstance(argument, tuple) else argument  # what arrived as garbage
    if not isinstance(carried, Packet) or door == Door.HOST:
        return _DATAGRAMS in component or door == Door.HOST
    datagram = carried.deth is not None and _DATAGRAMS in component
    return datagram or Thing(Noun.QP, node, carried.dest_qp) in component


def leave_out_others(world: World, component: Component) -> None:
    """In a trial: drop what is scheduled for others; of timers only what is armed stays."""
    agenda = world.agenda
    agenda.heap[:] = [entry for entry in agenda.heap if _concerns(world, entry, component)]
    heapify(agenda.heap)


def pass_idle_polls(session: Session, component: Component) -> bool:
    """In a trial: let threads that look in vain look again when something else happens.

    False if they do not, or if nothing else is to come. Seconds of retries are thousands of polls.
    """
    coming = planned(session.world, component)
    others = [entry[0] for entry in coming if entry[2] != Door.PROGRAM]
    if not others or len(others) == len(coming) or not _repeats(session, component):
        return False
    heap = session.world.agenda.heap
    threads = [e for e in heap if e[2] == Door.PROGRAM and e[4].thing in component]
    for place, entry in enumerate(heap):
        if entry in threads:
            heap[place] = (max(entry[0], min(others)), *entry[1:])
    heapify(heap)
    return True


def last_change(history: History, component: Component) -> int | None:
    """The event of the first snapshot that shows a component as it is now; None if it was ever so.

    The present event where no snapshot does; None as well where none differs from the next one.
    """
    known = (t for t in component if t.node in history.world.nodes)  # not of an unknown address
    keys = [(t.node, str(t.noun), t.number) for t in known if t.noun in (Noun.QP, Noun.PROGRAM)]
    after, since = take(history.world, keys, {}), history.here.event
    for snapshot in reversed(history.branch.snapshots):
        if snapshot.place.event > history.here.event:
            continue
        if any(snapshot.images.get(key) != after.get(key) for key in keys):
            return since
        after, since = snapshot.images, snapshot.place.event
    return None


MOST_LINES = 256
"""Lines of threads that are tried; a longer loop counts as progress."""

_IDLE_KINDS = frozenset((Kind.PROGRAM_RAN, Kind.REFUSED, Kind.CALLED, Kind.CQ_ARMED))
_RETRY_KINDS = frozenset((
    Kind.TIMER_FIRED, Kind.WENT_BACK, Kind.MEMORY_READ, Kind.PACKET_SENT, Kind.PACKET_RECEIVED,
    Kind.REQUEST_REFUSED, Kind.TIMER_ARMED,
))  # fmt: skip
_ASKING = ("poll_cq", "req_notify_cq", "get_cq_event", "get_async_event", "query_qp", "query_port")
_CLOCK = "now"


def at_rest(session: Session, component: Component) -> bool:
    """Whether nothing changes for a component of the world without another call.

    Beside threads an RNR retry without limit is no change: only a new receive ends it.
    """
    coming = planned(session.world, component)
    if any(thing.noun is Noun.PROGRAM for thing in component):
        coming = [entry for entry in coming if not _retries_in_vain(session.world, entry)]
    if any(entry[2] != Door.PROGRAM for entry in coming):
        return False
    return not coming or _repeats(session, component)


def _retries_in_vain(world: World, entry: Entry) -> bool:
    """Whether it is the RNR timer of requests that no count ends, and the peer has no receive."""
    _, _, door, node, number, _ = entry
    qp = find_qp(world, node, number) if door == Door.TIMER else None
    if qp is None or not waits_without_limit(qp):
        return False
    peer = peer_of(world, qp)
    return peer is not None and peer.state_row.receives and not peer.source.wqes


def changes_nothing(record: Record) -> bool:
    """Whether a record of a thread says that it has looked, or was refused: nothing is new."""
    kind, called = kind_of(record), kind_of(record) is Kind.CALLED
    return kind in _IDLE_KINDS and (
        not called or verb_of(record) in _ASKING or bool(errno_of(record))
    )


def _repeats(session: Session, component: Component) -> bool:
    """Whether every thread that runs comes back to where it is, and has changed nothing."""
    world = session.world
    threads = [thread for thread in running(world) if thread.thing in component]
    if any(_CLOCK in line.text.split() for thread in threads for line in thread.lines):
        return False
    about = {(thing.node, thing.number) for thing in component}
    home = {thread.thing: _place(thread) for thread in threads}
    first = world.trace.latest + 1
    with undone_afterwards(session.history):
        leave_out_others(world, component)
        for _ in range(MOST_LINES):
            session.history.run(1)
            records = [r for r in world.trace.since(first) if (node_of(r), object_of(r)) in about]
            if not all(kind_of(r) in _RETRY_KINDS or changes_nothing(r) for r in records):
                return False
            first = world.trace.latest + 1
            ran = {_runner(r) for r in records if kind_of(r) is Kind.PROGRAM_RAN}
            for thread in running(world):
                if thread.thing in ran and home.get(thread.thing) == _place(thread):
                    del home[thread.thing]
            if not home:
                return True
    return False


def _runner(record: Record) -> Thing:
    return Thing(Noun.PROGRAM, node_of(record), object_of(record))


def _place(thread: Program) -> tuple[int, tuple[int, ...]]:
    return thread.at, tuple(thread.loops)


def things_of(session: Session, line: Line) -> list[Thing]:
    """The living things that its verb and its question name, each once; nodes as well."""
    given = list(line.invocation.arguments.values()) if line.invocation is not None else []
    named = [session.names.find(str(ref)) for ref in _refs(given)]
    return [*_living(session, named), *things_in(session, line.question)]


def things_in(session: Session, question: Node | None) -> list[Thing]:
    """The living things that a question names, each once."""
    if question is None:
        return []
    names = [".".join(map(str, path.steps[:2])) for path in paths(question)]
    return _living(session, [session.names.find(name) for name in names])


def gone_in(session: Session, invocation: Invocation | None) -> list[Thing]:
    """The destroyed things that a call names, each once."""
    given = list(invocation.arguments.values()) if invocation is not None else []
    known = [thing for ref in _refs(given) if (thing := session.names.find(str(ref))) is not None]
    gone = (t for t in known if t.noun is not Noun.NODE and not exists(session.world, t))
    return list(dict.fromkeys(gone))


def _living(session: Session, things: list[Thing | None]) -> list[Thing]:
    known = [thing for thing in things if thing is not None]
    return list(dict.fromkeys(t for t in known if t.noun is Noun.NODE or exists(session.world, t)))


def _refs(value: object) -> Iterator[Ref]:
    """The names in an argument, also within its fields and elements."""
    if isinstance(value, Ref | New):
        yield Ref(value.node, value.name)
    elif isinstance(value, dict):
        yield from _refs(list(value.values()))
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _refs(each)
