"""What the code of the engines names: the evidence that they implement it."""

import importlib
import pkgutil
from collections.abc import Iterator
from enum import Enum
from functools import cache
from importlib.abc import InspectLoader
from types import CodeType, FunctionType

from rdmalab import hca as engines
from rdmalab import spec as book


@cache
def named_members() -> frozenset[tuple[type[Enum], str]]:
    """The enum members that the code of some engine names, in a function or a table."""
    found: set[tuple[type[Enum], str]] = set()
    known = _tables_of_the_book()
    for info in pkgutil.walk_packages(engines.__path__, f"{engines.__name__}."):
        content = [
            v for v in vars(importlib.import_module(info.name)).values() if id(v) not in known
        ]
        for value in content:
            found |= {(type(member), member.name) for member in _inside(value)}
        enums = [cls for cls in content if isinstance(cls, type) and issubclass(cls, Enum)]
        used = {name for value in content for code in _codes(value) for name in _names(code)}
        found |= {(cls, member.name) for cls in enums for member in cls if member.name in used}
    return frozenset(found)


@cache
def member_names() -> frozenset[str]:
    """All names in the code of the engines, also in code that runs when a module is loaded."""
    found: set[str] = set()
    for info in pkgutil.walk_packages(engines.__path__, f"{engines.__name__}."):
        # Not the loader of the module: inside pytest that is one which has no code to show.
        spec = info.module_finder.find_spec(info.name, None)
        loader = spec.loader if spec is not None else None
        if isinstance(loader, InspectLoader) and (code := loader.get_code(info.name)) is not None:
            found.update(_names(code))
    return frozenset(found)


def _tables_of_the_book() -> set[int]:
    """The tables of `spec/`: a row there does not show that an engine implements it."""
    modules = [importlib.import_module(i.name) for i in pkgutil.walk_packages(
        book.__path__, f"{book.__name__}.")]  # fmt: skip
    return {id(v) for m in modules for v in vars(m).values() if isinstance(v, dict | tuple)}


def _inside(value: object) -> Iterator[Enum]:
    if isinstance(value, Enum):
        yield value
    elif isinstance(value, tuple | frozenset | dict) and not hasattr(value, "_fields"):
        for item in value:
            yield from _inside(item)


def _codes(value: object) -> Iterator[CodeType]:
    if isinstance(value, FunctionType):
        yield value.__code__
    elif isinstance(value, type) and value.__module__.startswith(engines.__name__):
        for item in vars(value).values():
            yield from _codes(item)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)
