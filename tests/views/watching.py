"""The values of everything that can be asked, and what changed without a word of `Reads`."""

from collections.abc import Callable, Iterator, Sequence

from rdmalab.command import NotUnderstood, Noun, Thing
from rdmalab.grammar.expressions import parse_expression
from rdmalab.grammar.nodes import Node
from rdmalab.session.lines import Reply
from rdmalab.session.session import Session
from rdmalab.views import wqes
from rdmalab.views.query_fields import FACTS, OBJECTS, PARTS, field_hints, fields_of_row
from rdmalab.world.world import World

Values = dict[str, object]
_WORLD = (
    "wire.count()",
    "wire.last.event",
    "log.count()",
    "log.last.event",
    "log.any(errno=ENOMEM)",
)
_ALSO: dict[Noun, tuple[str, ...]] = {
    Noun.CQ: ("total(status=SUCCESS)", "total(opcode=RECV)", "overruns", "cqes[0].wr_id"),
    Noun.QP: ("sq.max_used", "rq.max_used"),
    Noun.MR: ("[0:64]", "[7]"),
}
_OF_NODE = (
    "count({}.qp.state == RTS)", "any({}.cq.count > 0)", "count({}.qp.sq.used > 0)",
    "all({}.qp.msn == 0)", "count({}.program.state == WAITING)",
)  # fmt: skip
_WORK: dict[str, Callable[[World, Thing], Sequence[object]]] = {
    "wr": wqes.wqe_rows,
    "recv_wr": wqes.recv_rows,
}
_nodes: dict[str, Node] = {}


def _node(text: str) -> Node:
    if text not in _nodes:
        _nodes[text] = parse_expression(text).node
    return _nodes[text]


def _asked(session: Session, text: str) -> Values:
    try:
        return {text: session.ask(_node(text))}
    except NotUnderstood as unknown:  # less bytes than that, or no completion
        return {text: unknown.message}


def values(session: Session) -> Values:
    """What each path is worth, by its text."""
    world, found = session.world, Values()
    for text in (*FACTS, *_WORLD):
        found |= _asked(session, text)
    for node in world.nodes:
        for text in _OF_NODE:
            found |= _asked(session, text.format(node))
        for part, sight in PARTS.items():
            for field in field_hints(sight.row):
                found |= _asked(session, f"{node}.{part}.{field}")
    for noun in OBJECTS:
        for thing in session.names.living(world, noun):
            found |= _of_thing(session, thing)
    return found


def _of_thing(session: Session, thing: Thing) -> Values:
    name, found = session.names.of(thing), Values()
    row = OBJECTS[thing.noun].row_of(session.world, session.names, thing)
    found |= {f"{name}.{path}": value for path, value in fields_of_row(row)}
    for text in _ALSO.get(thing.noun, ()):
        found |= _asked(session, name + text if text.startswith("[") else f"{name}.{text}")
    for word, style in _WORK.items() if thing.noun is Noun.QP else ():
        for each in style(session.world, thing):
            path = f"{name}.{word}[{dict(fields_of_row(each))['wr_id']}]"
            found |= {f"{path}.{field}": value for field, value in fields_of_row(each)}
            found |= _asked(session, f"{path}.completed_ns")
    return found


def unnoticed(session: Session, before: Values, now: Values) -> Iterator[str]:
    """The paths with another value than before the last event, of which `touches` knows nothing."""
    for path, value in now.items():
        if path in before and before[path] != value and not session.touches(_node(path)):
            yield f"event {session.world.event} {path}: {before[path]} {value}"


def watched(session: Session, reply: Reply, last: Values) -> Iterator[tuple[Values, list[str]]]:
    """Carry out the travel of a reply event by event: the values, and what went unnoticed."""
    travel = reply.travel
    while travel is not None and not travel.go(1):
        now = values(session)
        yield now, list(unnoticed(session, last, now))
        last = now
