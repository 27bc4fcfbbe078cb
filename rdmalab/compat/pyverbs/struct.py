"""C structs as pyverbs shows them: integers of C's widths, and a table as text."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Generic, Self, TypeVar, overload

from rdmalab.compat.pyverbs.base import PyverbsObject
from rdmalab.compat.pyverbs.c_types import Width, converted
from rdmalab.compat.pyverbs.pyverbs_error import SKIN

# Formats of a line: label, value.
WIDE = "{:22}: {:<20}\n"
NARROW = "{:20}: {:<20}\n"
PORT_LINE = "{:<24}: {:<20}\n"
T = TypeVar("T")


class Member(Generic[T]):
    """An attribute of a struct, read as a T; of the class it is the descriptor itself."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, struct: None, owner: type | None = None) -> Self: ...
    @overload
    def __get__(self, struct: "Struct", owner: type | None = None) -> T: ...
    def __get__(self, struct: "Struct | None", owner: type | None = None) -> Self | T:
        return self if struct is None else self._read(struct)

    def _read(self, struct: Any) -> T:
        """Its value in this struct."""
        raise NotImplementedError


class Field(Member[T]):
    """A number of a struct by its C type, and its line in the struct's table.

    label: none, it is not in the table. text: what is shown of the number. fixed: it can only be
    read. kept: how many low bits of an assigned number stay; then their mask.
    """

    def __init__(
        self, width: Width, label: str = "", text: Callable[[int], object] = int, *,
        fixed: bool = False, kept: int = 64,
    ) -> None:  # fmt: skip
        self.width, self.label, self.text = width, label, text
        self.fixed, self.kept = fixed, (1 << kept) - 1


class Number(Field[int]):
    """A field that is read and written as an integer; 0 until it is set."""

    def _read(self, struct: "Struct") -> int:
        return struct.c.get(self.name, 0)

    def __set__(self, struct: "Struct", value: int) -> None:
        if self.fixed:
            raise not_so(struct, self.name, "writable")
        self.put(struct, value)

    def put(self, struct: "Struct", value: object) -> None:
        """Set it, fixed or not. TypeError, OverflowError as `converted` raises them."""
        number = converted(value, self.width)
        struct.c[self.name] = number if self.width.least else number & self.kept


def numbers(width: Width, count: int, *, fixed: bool = False) -> list[Number]:
    """Fields of one C type for so many names; none of them is in the table."""
    return [Number(width, fixed=fixed) for _ in range(count)]


def not_so(struct: object, name: str, what: str) -> AttributeError:
    """The error for an attribute that is not readable, or not writable."""
    kind = f"{type(struct).__module__}.{type(struct).__name__}"
    return AttributeError(f"attribute '{name}' of '{kind}' objects is not {what}")


class ObjectField(Member[T | None]):
    """A field of a struct that is an object of one class, or None. kind None: not checked."""

    def __init__(self, kind: type[T] | None = None) -> None:
        self.kind = kind

    def _read(self, struct: "Struct") -> T | None:
        return struct.parts.get(self.name)

    def __set__(self, struct: "Struct", val: T | None) -> None:
        expect("val", val, self.kind or object)
        struct.parts[self.name] = val


class Struct(PyverbsObject):
    """A struct: `c` holds its numbers, `parts` its objects; what was never set is 0 or None.

    Its text is a table of the fields with a label, in their order, after _HEAD.
    """

    __slots__ = ("c", "parts")
    _HEAD: ClassVar[str] = ""
    _LINE: ClassVar[str] = WIDE
    _NUMBERS: ClassVar[dict[str, Number]] = {}

    c: dict[str, int]
    parts: dict[str, Any]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        fields = {name: getattr(cls, name, None) for name in dir(cls)}
        cls._NUMBERS = {name: it for name, it in fields.items() if isinstance(it, Number)}

    def __new__(cls, *given: object, **named: object) -> Self:
        made = super().__new__(cls)
        made.c, made.parts = {}, {}
        return made

    def _set(self, given: Mapping[str, object]) -> None:
        """Set the fields from the arguments of `__init__`, given as its `locals()`."""
        for name, value in given.items():
            if (field := self._NUMBERS.get(name)) is not None:
                field.put(self, value)

    def fill(self, numbers: Mapping[str, object]) -> None:
        """Set what the device answers, as far as the struct has a field for it."""
        for name, value in numbers.items():
            if isinstance(value, int) and name in self._NUMBERS:
                self.c[name] = int(value)

    def numbers(self, names: Iterable[str]) -> dict[str, int]:
        """These fields by name; 0: never set."""
        return {name: self.c.get(name, 0) for name in names}

    def _rows(self) -> list[tuple[str, object]]:
        """The label and text of each field that has a label; those of base classes come first."""
        return [
            (field.label, field.text(self.c.get(name, 0)))
            for kind in reversed(type(self).__mro__)
            for name, field in vars(kind).items()
            if isinstance(field, Field) and field.label
        ]

    def __str__(self) -> str:
        rows = self._rows()
        return self._HEAD + table(rows, self._LINE) if rows else super().__str__()


def table(rows: Iterable[tuple[str, object]], line: str = WIDE) -> str:
    """One line for each (label, value)."""
    return "".join(line.format(label, value) for label, value in rows)


def members(enum_name: str, less: str = "") -> dict[int, str]:
    """The members of an enum of libibverbs by their number, without `less`."""
    from rdmalab.compat.pyverbs import libibverbs_enums as enums

    members = getattr(enums, enum_name).__members__
    return {int(value): name for name, value in members.items() if name != less}


def expect(what: str, value: object, kind: type, *, null: bool = True) -> None:
    """TypeError for an argument of another class, worded as pyverbs words it; null: None passes."""
    if isinstance(value, kind) or (null and value is None):
        return
    wanted = f"{kind.__module__.removeprefix(SKIN)}.{kind.__name__}"
    got = type(value).__name__
    if type(value).__module__.startswith("pyverbs."):
        got = f"{type(value).__module__}.{got}"
    raise TypeError(f"Argument '{what}' has incorrect type (expected {wanted}, got {got})")
