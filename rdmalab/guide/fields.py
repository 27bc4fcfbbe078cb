"""Fields of verbs: what each key of a work request, a size or a rule of a flow is for.

`data/sentences.toml` has the sentence. Who takes the field, its type, width and default are read
from the signatures. Attributes of a queue pair have a table of their own.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import NamedTuple

from rdmalab.command import Command, EnumKind, IntegerKind, ListKind, Parameter, RecordKind
from rdmalab.grammar.format import value_text
from rdmalab.grammar.values import legal_words
from rdmalab.guide.article import Article, Row, article
from rdmalab.guide.entry import Entry
from rdmalab.guide.sentences import read, sentence, wire

_MOST_NAMED = 6


class FieldUse(NamedTuple):
    """A command and the parameter, or field of a record, that it takes."""

    command: str
    parameter: Parameter


def entries(vocabulary: Mapping[str, Command]) -> Iterator[Entry]:
    """One article a field that some command of the vocabulary takes."""
    places = fields_of(vocabulary)
    for name in read("sentences")["field"]:
        if name in places:
            write = partial(field_article, name, places[name])
            parameters = [place.parameter for place in places[name]]
            aliases = dict.fromkeys(a for p in parameters for a in (*p.aliases, *p.dotted))
            yield Entry(f"field {name}", "field of a verb", (name, *aliases), write)


def fields_of(vocabulary: Mapping[str, Command]) -> dict[str, list[FieldUse]]:
    """Each name that can be written before `=`, and where."""
    places: dict[str, list[FieldUse]] = {}
    for command in vocabulary.values():
        for parameter in command.parameters:
            _collect(places, command.name, parameter)
    return places


def _collect(places: dict[str, list[FieldUse]], command: str, parameter: Parameter) -> None:
    found = places.setdefault(parameter.name, [])
    if all(place.command != command for place in found):
        found.append(FieldUse(command, parameter))
    kind = parameter.kind
    while isinstance(kind, ListKind):
        kind = kind.item
    for field in kind.fields if isinstance(kind, RecordKind) else ():
        _collect(places, command, field)


def field_article(name: str, places: list[FieldUse]) -> Article:
    """One field, with all commands that take it."""
    commands = [place.command for place in places]
    more = f" and {len(commands) - _MOST_NAMED} more" if len(commands) > _MOST_NAMED else ""
    rows: list[Row] = [
        ("", sentence("field", name)),
        ("who", "the program, in the struct"),
        ("wire", wire("field", name) or "nothing"),
        ("taken by", " ".join(commands[:_MOST_NAMED]) + more),
        ("type", _type(places)),
        ("default", _default(places)),
    ]
    see = [f"help {commands[0]}"]
    return article(name, "field of a verb", rows, see)


def _type(places: list[FieldUse]) -> str:
    types = (one_type(place.parameter) for place in places)
    return "; ".join(dict.fromkeys(words for words in types if words))


def one_type(parameter: Parameter) -> str:
    """Legal values of a field: members of an enum, `pointer`, or a number of bits; or empty."""
    kind = parameter.kind
    if isinstance(kind, EnumKind):
        return ("|" if kind.is_flags else " ").join(legal_words(kind))
    if kind.pointer and not isinstance(kind, ListKind):
        return "pointer"
    if isinstance(kind, IntegerKind) and kind.bits is not None:
        return f"{kind.bits.width} bits"
    return ""


def _default(places: list[FieldUse]) -> str:
    """The default, if all commands have the same."""
    given = [place.parameter for place in places]
    if any(parameter.required or parameter.default in (None, "", []) for parameter in given):
        return ""
    defaults = {value_text(parameter.default, parameter.kind) for parameter in given}
    return defaults.pop() if len(defaults) == 1 else ""
