"""Completion of expressions: facts, names, fields of rows, enum members."""

import enum
import re

from rdmalab.command import NotUnderstood, Noun
from rdmalab.grammar.expressions import parse_expression
from rdmalab.grammar.operators import SINCE
from rdmalab.session.checkpoints import BEGINNING
from rdmalab.session.session import Session
from rdmalab.views.query_fields import continuations, fields
from rdmalab.views.query_types import filters_of
from rdmalab.views.row_fields import parts_of_hint, type_word

_MOST = 60
_CALL = re.compile(r"([A-Za-z_][\w.]*)\(([^()]*)\Z")
_COMPARED = re.compile(r"([A-Za-z_][\w.\[\]]*)\s*[=!]=\s*\Z")


def question_choices(session: Session, before: str, partial: str) -> list[tuple[str, str]]:
    """The candidates at the cursor, each with its description."""
    typed = before.removesuffix(partial)
    if (call := _CALL.search(typed)) is not None and (filters := filters_of(call[1])):
        return _filter_choices(session, filters, call[2].rpartition(",")[2])
    compared = _COMPARED.search(typed)
    if compared is not None and (members := _members(session, compared[1])):
        return [(member, "") for member in members]
    own = f"{session.default_node}."
    paths = continuations(session.names, partial)
    if partial and partial.partition(".")[0] not in session.world.nodes:
        paths += [path.removeprefix(own) for path in continuations(session.names, own + partial)]
    unique = list(dict.fromkeys(paths))[:_MOST]
    sentences = {row.path: row.sentence for row in fields()}
    return [(path, sentences.get(sample(session, path), "")) for path in unique]


def _filter_choices(
    session: Session, filters: dict[str, object], typed: str
) -> list[tuple[str, str]]:
    """Inside the parentheses of a count: the keys, after a key its words."""
    key = re.fullmatch(r"\s*(\w+)\s*!?=\s*", typed)
    if key is None:
        since = [(f"{SINCE}=", "only what came after a checkpoint, an event or a time")]
        return [*((f"{name}=", type_word(hint)) for name, hint in filters.items()), *since]
    if key[1] == SINCE:
        return [(f"@{mark}", "") for mark in dict.fromkeys([*session.checkpoints, BEGINNING])]
    if key[1] in ("from", "to", "source", "target", "node"):
        return [(node, "") for node in session.world.nodes]
    return [(word, "") for hint in parts_of_hint(filters.get(key[1])) for word in _words(hint)]


def _words(hint: object) -> list[str]:
    """The names of an enum; [] for another type."""
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return list(hint.__members__)
    return []


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
