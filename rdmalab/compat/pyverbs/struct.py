"""C structs as a binding shows them: integers of C's widths, and a table as text."""

from collections.abc import Iterable
from typing import Any, Self

from rdmalab.compat.pyverbs.base import PyverbsObject
from rdmalab.compat.pyverbs.c_types import Width, converted
from rdmalab.compat.pyverbs.pyverbs_error import SKIN

WIDE = "{:22}: {:<20}\n"  # a line of most tables
PORT_LINE = "{:<24}: {:<20}\n"


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


def members(enum_name: str, less: str = "") -> dict[int, str]:
    """The members of an enum of libibverbs by their number, without `less`."""
    from rdmalab.compat.pyverbs import libibverbs_enums as enums

    members = getattr(enums, enum_name).__members__
    return {int(value): name for name, value in members.items() if name != less}


def expect(what: str, value: Any, kind: type, *, null: bool = True) -> None:
    """TypeError for an argument of another class, as the binding words it."""
    if isinstance(value, kind) or (null and value is None):
        return
    wanted = f"{kind.__module__.removeprefix(SKIN)}.{kind.__name__}"
    got = type(value).__name__
    if type(value).__module__.startswith("pyverbs."):
        got = f"{type(value).__module__}.{got}"
    raise TypeError(f"Argument '{what}' has incorrect type (expected {wanted}, got {got})")
