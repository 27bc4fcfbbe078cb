"""C structs as a binding shows them: integers of C's widths, and a table as text."""

from collections.abc import Iterable
from typing import Any, NamedTuple, Self

from rdmalab.compat.pyverbs.base import PyverbsObject
from rdmalab.compat.pyverbs.pyverbs_error import SKIN

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
UINT32 = _unsigned("uint32_t", 32)
UINT64 = _unsigned("uint64_t", 64)
SIZE = _unsigned("size_t", 64)
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
    if not (-_LONG // 2 <= number < _LONG // 2 if width.least else number < _LONG):
        long = "long" if width.least else "unsigned long"
        raise OverflowError(f"Python int too large to convert to C {long}")
    if not width.least <= number <= width.most:
        raise OverflowError(f"value too large to convert to {width.name}")
    return number


class Number:
    """A field of a struct. fixed: it is only read. kept: fewer bits than the binding lets in."""

    def __init__(self, width: Width, *, fixed: bool = False, kept: int = 64) -> None:
        self.width = width
        self.fixed = fixed
        self.kept = kept

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, struct: "Struct | None", owner: type | None = None) -> Any:
        return self if struct is None else struct.c.get(self.name, 0)

    def __set__(self, struct: "Struct", value: Any) -> None:
        if self.fixed:
            raise not_so(struct, self.name, "writable")
        self.put(struct, value)

    def put(self, struct: "Struct", value: Any) -> None:
        """Set it, fixed or not."""
        number = converted(value, self.width)
        struct.c[self.name] = number if self.width.least else number & (1 << self.kept) - 1


def not_so(struct: object, name: str, what: str) -> AttributeError:
    """The error for an attribute that is not readable, or not writable."""
    kind = f"{type(struct).__module__}.{type(struct).__name__}"
    return AttributeError(f"attribute '{name}' of '{kind}' objects is not {what}")


class Part:
    """A field of a struct that is an object of one class, or None."""

    def __init__(self, kind: type) -> None:
        self.kind = kind

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, struct: "Struct | None", owner: type | None = None) -> Any:
        return self if struct is None else struct.parts.get(self.name)

    def __set__(self, struct: "Struct", val: Any) -> None:
        expect("val", val, self.kind)
        struct.parts[self.name] = val


class Struct(PyverbsObject):
    """A struct: `c` holds its numbers, `parts` its objects; what was never set is 0 or None."""

    __slots__ = ("c", "parts")

    c: dict[str, int]
    parts: dict[str, Any]

    def __new__(cls, *given: Any, **named: Any) -> Self:
        made = super().__new__(cls)
        made.c, made.parts = {}, {}
        return made

    def _set(self, **numbers: Any) -> None:
        for name, value in numbers.items():
            getattr(type(self), name).put(self, value)

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
    wanted = f"{kind.__module__.removeprefix(SKIN)}.{kind.__name__}"
    got = type(value).__name__
    if type(value).__module__.startswith("pyverbs."):
        got = f"{type(value).__module__}.{got}"
    raise TypeError(f"Argument '{what}' has incorrect type (expected {wanted}, got {got})")
