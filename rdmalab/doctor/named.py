"""The things that a line of a program names: `wait A.cq0.total == 3` is about A.cq0."""

from collections.abc import Iterator

from rdmalab.command import Invocation, New, Noun, Ref, Thing
from rdmalab.grammar.nodes import Node
from rdmalab.grammar.program import Line
from rdmalab.grammar.trees import paths
from rdmalab.session.session import Session
from rdmalab.world.relations import exists


def things_of(session: Session, line: Line) -> list[Thing]:
    """What its verb and its question name, each once, as far as it lives; nodes as well."""
    given = list(line.invocation.arguments.values()) if line.invocation is not None else []
    named = [session.names.find(str(ref)) for ref in _refs(given)]
    return [*_living(session, named), *things_in(session, line.question)]


def things_in(session: Session, question: Node | None) -> list[Thing]:
    """What a question names, each once, as far as it lives."""
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
    return list(dict.fromkeys(
        t for t in known if t.noun is Noun.NODE or exists(session.world, t)
    ))  # fmt: skip


def _refs(value: object) -> Iterator[Ref]:
    """The names in an argument, also within its fields and elements."""
    if isinstance(value, Ref | New):
        yield Ref(value.node, value.name)
    elif isinstance(value, dict):
        yield from _refs(list(value.values()))
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _refs(each)
