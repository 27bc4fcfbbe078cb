"""C structs as a binding shows them: integers of C's widths, and a table as text."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from rdmalab.compat.pyverbs.base import PyverbsObject

WIDE = "{:22}: {:<20}\n"  # a line of most tables
_LONG = 1 << 64


class Width(NamedTuple):
    """A C integer: its name, the least and the greatest value."""

    name: str
    least: int
    most: int


def _unsigned(name: str, bits: int) -> Width:
    return Width(name, 0, (1 << bits) - 1)


U8 = _unsigned("unsigned char", 8)
U16 = _unsigned("unsigned short", 16)
U32 = _unsigned("unsigned int", 32)
U64 = _unsigned("unsigned long", 64)
INT = Width("int", -(1 << 31), (1 << 31) - 1)


def enum(name: str) -> Width:
    """An enum, which C keeps in an unsigned int."""
    return _unsigned(f"enum {name}", 32)


def converted(value: Any, width: Width) -> int:
    """A Python value as C takes it. TypeError, OverflowError as the binding raises them."""
    kind = type(value)
    if not hasattr(kind, "__int__") and not hasattr(kind, "__index__"):
        raise TypeError("an integer is required")
    number = int(value)
    if number < 0 <= width.least:
        raise OverflowError(f"can't convert negative value to {width.name}")
    if number >= _LONG:
        raise OverflowError("Python int too large to convert to C unsigned long")
    if not width.least <= number <= width.most:
        raise OverflowError(f"value too large to convert to {width.name}")
    return number


class Number:
    """A field of a struct. as_: its name in C, where the binding calls it otherwise."""

    def __init__(self, width: Width, *, fixed: bool = False) -> None:
        self.width = width
        self.fixed = fixed

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, struct: "Struct | None", owner: type | None = None) -> Any:
        return self if struct is None else struct.c.get(self.name, 0)

    def __set__(self, struct: "Struct", value: Any) -> None:
        if self.fixed:
            kind = type(struct).__name__
            raise AttributeError(f"attribute '{self.name}' of '{kind}' objects is not writable")
        struct.c[self.name] = converted(value, self.width)


class Struct(PyverbsObject):
    """A struct: `c` holds its numbers, a field that was never set is 0."""

    __slots__ = ("c",)

    def __init__(self, **numbers: Any) -> None:
        self.c: dict[str, int] = {}
        for name, value in numbers.items():
            self.c[name] = converted(value, getattr(type(self), name).width)

    def fill(self, numbers: dict[str, Any]) -> None:
        """What the device answers, as far as the struct has a field for it."""
        for name, value in numbers.items():
            if isinstance(getattr(type(self), name, None), Number):
                self.c[name] = int(value)


def table(rows: Iterable[tuple[str, Any]], line: str = WIDE) -> str:
    return "".join(line.format(label, value) for label, value in rows)


def expect(what: str, value: Any, kind: type, *, null: bool = True) -> None:
    """TypeError for an argument of another class, as the binding words it."""
    if isinstance(value, kind) or (null and value is None):
        return
    wanted = f"{kind.__module__.removeprefix('rdmalab.compat.')}.{kind.__name__}"
    if value is None:
        raise TypeError(f"Argument '{what}' must not be None")
    got = type(value).__name__
    raise TypeError(f"Argument '{what}' has incorrect type (expected {wanted}, got {got})")
