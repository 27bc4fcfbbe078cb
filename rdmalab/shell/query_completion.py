"""Completion of expressions: facts, names, fields of rows, enum members."""

import enum
import re

from rdmalab.command import NotUnderstood, Noun
from rdmalab.grammar.expressions import parse_expression
from rdmalab.session.session import Session
from rdmalab.views.query_fields import continuations, fields

_MOST = 60
_COMPARED = re.compile(r"([A-Za-z_][\w.\[\]]*)\s*[=!]=\s*\Z")


def question_choices(session: Session, before: str, partial: str) -> list[tuple[str, str]]:
    """The candidates at the cursor, each with its description."""
    compared = _COMPARED.search(before.removesuffix(partial))
    if compared is not None and (members := _members(session, compared[1])):
        return [(member, "") for member in members]
    own = f"{session.default_node}."
    paths = continuations(session.names, partial)
    if partial and partial.partition(".")[0] not in session.world.nodes:
        paths += [path.removeprefix(own) for path in continuations(session.names, own + partial)]
    unique = list(dict.fromkeys(paths))[:_MOST]
    sentences = {row.path: row.sentence for row in fields()}
    return [(path, sentences.get(sample(session, path), "")) for path in unique]


def sentence(session: Session, path: str) -> str:
    """The value of a path as text; empty if it has none."""
    wanted = sample(session, path)
    return next((row.sentence for row in fields() if row.path == wanted), "")


def sample(session: Session, path: str) -> str:
    """The path as the list of fields has it, about A's first object of the kind."""
    for start in (path, f"{session.default_node}.{path}"):
        node, _, rest = start.partition(".")
        name, dot, field = rest.partition(".")
        thing = session.names.find(f"{node}.{name}")
        if thing is not None and thing.noun is not Noun.NODE:
            return f"A.{thing.noun}0{dot}{field}"
    return path


def _members(session: Session, path: str) -> list[str]:
    """The names of the enum that a path's value belongs to."""
    try:
        value = session.ask(parse_expression(path, session.default_node).node)
    except NotUnderstood:
        return []
    return list(type(value).__members__) if isinstance(value, enum.Enum) else []
