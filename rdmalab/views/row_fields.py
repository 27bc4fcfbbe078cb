"""Fields of row classes: their types and sentences, and the value at a path."""

import dataclasses
import types
import typing
from collections.abc import Iterator
from typing import Annotated

from rdmalab.grammar.answers import Unknown
from rdmalab.grammar.hints import quoted, suggest
from rdmalab.grammar.nodes import Index

PathStep = str | Index


def walk(
    row: object, cls: type, rest: list[PathStep], name: str, also: list[str] | None = None
) -> object:
    """The field at the end of `rest`; of a row that is not there, nothing."""
    if not rest:
        hint = f"write {name}.{next(iter(field_hints(cls)))}"
        raise Unknown(f"{name} has several fields, which one?", hint)
    step, *more = rest
    hints = field_hints(cls)
    if not isinstance(step, str) or step not in hints:
        legal = [*hints, *(also or [])]
        raise Unknown(f"{name} has no {quoted(str(step))}", suggest(str(step), legal))
    value = None if row is None else getattr(row, step)
    inner = row_class(hints[step])
    if inner is not None:
        below = [a.partition(".")[2] for a in also or [] if a.startswith(f"{step}.")]
        return walk(value, inner, more, f"{name}.{step}", below)
    if more:
        raise Unknown(f"{name}.{step} has no fields", f"write {name}.{step}")
    return value


def hint_at(cls: type, rest: list[PathStep], name: str, also: list[str] | None = None) -> object:
    """The annotation of the field at the end of `rest`; Unknown where there is no such field."""
    walk(None, cls, rest, name, also)
    hint: object = None
    for step in rest:
        hint = field_hints(cls)[str(step)]
        cls = row_class(hint) or cls
    return hint


_CACHE: dict[type, dict[str, object]] = {}


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
