"""Fields of row classes: their types and sentences, and the value at a path."""

import dataclasses
import types
import typing
from collections.abc import Collection, Iterator, Sequence
from typing import Annotated

from rdmalab.grammar.answers import Unknown
from rdmalab.grammar.hints import quoted, suggest
from rdmalab.grammar.nodes import Index

PathStep = str | Index


def walk(
    row: object, cls: type, rest: list[PathStep], name: str, also: Sequence[str] = ()
) -> object:
    """The field at the end of `rest`; of a row that is not there, nothing.

    also: what the object has besides the fields of its row, for the hint.
    """
    for position, step in enumerate(rest):
        hints = field_hints(cls)
        if not isinstance(step, str) or step not in hints:
            raise _no_field(hints, rest[:position], str(step), name, also)
        row = None if row is None else getattr(row, step)
        inner = _inner(cls, step)
        if inner is None:
            if position + 1 < len(rest):
                whole = ".".join([name, *map(str, rest[: position + 1])])
                raise Unknown(f"{whole} has no fields", f"write {whole}")
            return row
        cls = inner
    whole = ".".join([name, *map(str, rest)])
    hint = f"write {whole}.{next(iter(field_hints(cls)))}"
    raise Unknown(f"{whole} has several fields, which one?", hint)


def _no_field(
    hints: Collection[str], before: list[PathStep], step: str, name: str, also: Sequence[str]
) -> Unknown:
    whole, stem = ".".join([name, *map(str, before)]), "".join(f"{each}." for each in before)
    legal = [*hints, *(each.removeprefix(stem) for each in also if each.startswith(stem))]
    return Unknown(f"{whole} has no {quoted(step)}", suggest(step, legal))


def hint_at(cls: type, rest: list[PathStep], name: str, also: Sequence[str] = ()) -> object:
    """The annotation of the field at the end of `rest`; Unknown where there is no such field."""
    walk(None, cls, rest, name, also)
    hint: object = None
    for step in rest:
        hint = field_hints(cls)[str(step)]
        cls = row_class(hint) or cls
    return hint


_CACHE: dict[type, dict[str, object]] = {}
_INNER: dict[tuple[type, str], type | None] = {}


def _inner(cls: type, field: str) -> type | None:
    """The row class of a field of a row, None for a plain value; kept, because conditions ask."""
    if (cls, field) not in _INNER:
        _INNER[cls, field] = row_class(field_hints(cls)[field])
    return _INNER[cls, field]


def field_hints(cls: type) -> dict[str, object]:
    """The fields of a row class that have a sentence: those that can be asked."""
    if cls not in _CACHE:
        hints = typing.get_type_hints(cls, include_extras=True)
        _CACHE[cls] = {
            name: hint for name, hint in hints.items() if typing.get_origin(hint) is Annotated
        }
    return _CACHE[cls]


def fields_of_row(row: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Every field of a row that can be asked, with its path and value."""
    for name, hint in field_hints(type(row)).items():
        value = getattr(row, name)
        inner = row_class(hint)
        if inner is not None and types.NoneType not in parts_of_hint(hint):
            yield from fields_of_row(value, f"{path}{name}.")
        else:
            yield f"{path}{name}", value


def row_class(annotation: object) -> type | None:
    """The row class inside an annotation, or None for a plain value."""
    for part in parts_of_hint(annotation):
        if dataclasses.is_dataclass(part) and isinstance(part, type):
            return part
    return None


def parts_of_hint(annotation: object) -> tuple[object, ...]:
    """The types in an annotation: the members of a union, else the one type."""
    if typing.get_origin(annotation) is Annotated:
        annotation = typing.get_args(annotation)[0]
    union = typing.get_origin(annotation) in (typing.Union, types.UnionType)
    return typing.get_args(annotation) if union else (annotation,)


def type_word(annotation: object) -> str:
    """`QPState`, `int or nothing`."""
    parts = [p for p in parts_of_hint(annotation) if p is not types.NoneType]
    first = getattr(parts[0], "__name__", str(parts[0]))
    optional = types.NoneType in parts_of_hint(annotation)
    return f"{first} or nothing" if optional else str(first)
