"""Checks an expression by the types of its fields, before it is evaluated.

A breakpoint on a misspelled word would never stop. The fields are those of the row classes; what a
word may be compared with is decided where expressions are evaluated.
"""

import enum
import types
import typing
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from rdmalab.command import NOWHERE, NotUnderstood, Noun, Span
from rdmalab.grammar import nodes
from rdmalab.grammar.answers import Unknown, comparable, plain
from rdmalab.grammar.hints import quoted, suggest
from rdmalab.grammar.nodes import QUANTIFIERS
from rdmalab.grammar.trees import is_function
from rdmalab.views import calls, completions, ladder, query_fields
from rdmalab.views.packets import SHORT
from rdmalab.views.query_fields import PathStep, hint_at, parts_of_hint

Nouns = Callable[[str], Collection[Noun]]
"""Kinds of object that a name such as `A.qp0` may stand for; empty where that is not known."""

_ROWS: Mapping[str, tuple[type, tuple[str, ...]]] = {
    "wire": (ladder.PacketRow, query_fields.WIRE_KEYS),
    "log": (calls.CallRow, query_fields.LOG_KEYS),
    "total": (completions.WcRow, query_fields.WC_KEYS),
}
"""Class of the rows that are counted, and the filters that they take besides `since`."""


def check_types(node: nodes.Node, nouns: Nouns) -> None:
    """NotUnderstood at a field that nothing has, or a word that its field never is."""
    match node:
        case nodes.Path():
            _types(node, nouns)
        case nodes.Call():
            _check_call(node, nouns)
        case nodes.Unary():
            check_types(node.operand, nouns)
        case nodes.Binary() if node.operator in nodes.COMPARISONS:
            _check_comparison(node, nouns)
        case nodes.Binary():
            check_types(node.left, nouns)
            check_types(node.right, nouns)


def nouns_by_prefix(name: str) -> Collection[Noun]:
    """`A.qp0` is a queue pair by the numbering of the short forms; other names may be anything."""
    bare = name.partition(".")[2].rstrip("0123456789")
    return [noun for noun in query_fields.OBJECTS if noun == bare]


def _check_comparison(node: nodes.Binary, nouns: Nouns) -> None:
    for side in (node.left, node.right):
        check_types(side, nouns)
    for fact, value in ((node.left, node.right), (node.right, node.left)):
        if isinstance(fact, nodes.Path) and isinstance(value, nodes.Word | nodes.Literal):
            _check_value(_types(fact, nouns), value)


def check_filters(of: str, name: str, wanted: Mapping[str, object]) -> None:
    """NotUnderstood at a filter that a count does not take, or a value that its field never has."""
    row, keys = _ROWS[of]
    for key, value in wanted.items():
        _check_key(name, key, keys, NOWHERE)
        _check_worth([_hint_of(row, key)], plain(value), NOWHERE)


def _hint_of(row: type, key: str) -> object:
    """The type of the field that a filter is about."""
    return typing.get_type_hints(row)[SHORT.get(key, key)]


def _check_key(name: str, key: str, keys: Collection[str], place: Span) -> None:
    if key not in keys:
        raise NotUnderstood(
            f"{name} has no {quoted(key)}", place, suggest(key, [*keys, nodes.SINCE])
        )


def _check_value(hints: list[object], value: nodes.Word | nodes.Literal) -> None:
    wanted = nodes.Bare(value.text) if isinstance(value, nodes.Word) else value.value
    _check_worth(hints, wanted, value.place)


def _check_worth(hints: list[object], wanted: object, place: Span) -> None:
    """The complaint of the first type, where no type accepts the value."""
    wrong: list[NotUnderstood] = []
    for sample in [sample for hint in hints for sample in _samples(hint)]:
        try:
            comparable(sample, wanted, place)
        except NotUnderstood as complaint:
            wrong.append(complaint)
        else:
            return
    if wrong:
        raise wrong[0]


def _samples(hint: object) -> Iterator[object]:
    """One value of each type that a field may have; None stands for what is not known."""
    for part in parts_of_hint(hint):
        if isinstance(part, type) and issubclass(part, enum.Enum):
            yield next(iter(part))
        elif isinstance(part, type) and issubclass(part, bool | int | bytes | str):
            yield part()
        elif part is not types.NoneType:
            yield None


def filters_of(path: str) -> dict[str, object]:
    """The filters that a call takes, each with the type of its value; {} for another call."""
    steps = path.split(".")
    counted = _counted(steps) or _counted(["", *steps])  # the node may be left out
    return {key: _hint_of(counted[0], key) for key in counted[1]} if counted else {}


def _counted(steps: Sequence[PathStep]) -> tuple[type, tuple[str, ...]] | None:
    """The row of _ROWS for a call that counts; None: another call."""
    match steps:
        case ["wire" | "log" as root, "count" | "any"]:
            return _ROWS[root]
        case [str(), str(), "total"]:
            return _ROWS["total"]
    return None


def _check_call(node: nodes.Call, nouns: Nouns) -> None:
    counted = _counted(node.path.steps)
    if counted is None:
        _check_other_call(node, nouns)
        return
    row, keys = counted
    for key, given in node.keywords.items():
        if key == nodes.SINCE:
            continue
        value = (
            given.operand if isinstance(given, nodes.Unary) and given.operator == "!=" else given
        )
        _check_key(str(node.path), key, keys, value.place)
        if isinstance(value, nodes.Word | nodes.Literal):
            _check_value([_hint_of(row, key)], value)
        else:
            check_types(value, nouns)


def _check_other_call(node: nodes.Call, nouns: Nouns) -> None:
    if is_function(node):
        _check_function(node, nouns)
    elif not node.path.is_single:  # why(A.qp0.wr[7]): judged when it is answered
        wrong = not_callable(node.path)
        raise NotUnderstood(wrong.message, node.path.place, wrong.hint)


def not_callable(path: nodes.Path) -> Unknown:
    """The error of a call that nothing answers, such as `A.cq0.totl()`."""
    *_, last = path.steps
    owner = str(path).removesuffix(f".{last}")
    words = ["count", "any"] if owner in ("wire", "log") else ["total"]
    return Unknown(f"{path} cannot be called", suggest(str(path), [f"{owner}.{w}" for w in words]))


def _check_function(node: nodes.Call, nouns: Nouns) -> None:
    """`count(A.mr)` names a kind and no field of it."""
    for inner in node.positional:
        if not (
            str(node.path) in QUANTIFIERS
            and isinstance(inner, nodes.Path)
            and len(inner.steps) == 2
        ):
            check_types(inner, nouns)


# --------------------------------------------------------------------------- types of paths
def _types(path: nodes.Path, nouns: Nouns) -> list[object]:
    """The types that the fact at a path may have."""
    try:
        return list(_hints(path, nouns))
    except Unknown as unknown:
        raise NotUnderstood(unknown.message, path.place, unknown.hint) from None


def _hints(path: nodes.Path, nouns: Nouns) -> Iterator[object]:
    first, *rest = path.steps
    if first in query_fields.FACTS and not rest:
        yield query_fields.FACTS[str(first)][0]
    elif rest and (sight := query_fields.WORLD.get((str(first), str(rest[0])))) is not None:
        yield hint_at(sight.row, rest[1:], f"{first}.{rest[0]}")
    elif rest and isinstance(rest[0], str) and len(str(first)) == 1:
        yield from _of_node(f"{first}.{rest[0]}", rest, nouns)
    else:
        yield None  # judged when it is answered


def _of_node(name: str, rest: list[PathStep], nouns: Nouns) -> Iterator[object]:
    if (part := query_fields.PARTS.get(str(rest[0]))) is not None:
        yield hint_at(part.row, rest[1:], name)
        return
    wrong: list[Unknown] = []
    found = False
    for noun in nouns(name) or query_fields.OBJECTS:
        try:
            yield _of_thing(noun, rest[1:], name)
            found = True
        except Unknown as unknown:
            wrong.append(unknown)
    if not found:
        raise wrong[0]


def _of_thing(noun: Noun, rest: list[PathStep], name: str) -> object:
    if noun is Noun.MR and rest and isinstance(rest[0], nodes.Index):
        return int if rest[0].stop is None else bytes
    if rest and (listing := query_fields.LISTS.get((noun, str(rest[0])))) is not None:
        index = query_fields.index_of(rest, name)
        if rest[2:] and rest[2] in listing.also:
            return int | None
        return hint_at(listing.row, rest[2:], f"{name}.{rest[0]}{index}", listing.also)
    if (fold := query_fields.FOLDS.get((noun, ".".join(map(str, rest))))) is not None:
        return fold.type
    return hint_at(query_fields.OBJECTS[noun].row, rest, name, query_fields.ALSO[noun])
