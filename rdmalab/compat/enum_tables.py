"""Enums of C as rows of text: a prefix, and names that count upwards from the last number."""

from collections.abc import Iterator
from enum import IntEnum
from typing import Any


def numbers(name: str, prefix: str, row: str) -> type[IntEnum]:
    """An enum whose members count: `1 A B 8 C` is A=1, B=2, C=8."""
    return _enum(name, dict(_counted(prefix, row)))


def bits(name: str, prefix: str, row: str) -> type[IntEnum]:
    """An enum of flags, counted in bits: `A B 4 C` is A=1, B=2, C=16."""
    return _enum(name, {member: 1 << bit for member, bit in _counted(prefix, row)})


def plain(prefix: str, row: str) -> dict[str, int]:
    """Constants that belong to no named enum."""
    return dict(_counted(prefix, row))


def export(module: dict[str, Any], *constants: dict[str, int]) -> None:
    """Put the members of a module's enums beside them, as C does, and constants without an enum."""
    enums = [it for it in module.values() if isinstance(it, type) and issubclass(it, IntEnum)]
    for enum in enums:
        if enum is not IntEnum:
            enum.__module__ = module["__name__"]  # else they could not be pickled
            module.update(enum.__members__)
    for names in constants:
        module.update(names)


def _enum(name: str, members: dict[str, int]) -> type[IntEnum]:
    made: Any = IntEnum
    kind: type[IntEnum] = made(name, members)
    return kind


def _counted(prefix: str, row: str) -> Iterator[tuple[str, int]]:
    number = 0
    for word in row.split():
        if word.lstrip("-").isdigit():
            number = int(word)
        else:
            yield prefix + word, number
            number += 1
