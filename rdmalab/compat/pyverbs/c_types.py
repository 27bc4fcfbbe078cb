"""Integer types of C: the values each holds, and how a Python value is converted to one."""

from typing import NamedTuple, SupportsIndex, SupportsInt

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


def converted(value: object, width: Width) -> int:
    """A Python value as C takes it. TypeError, OverflowError as the binding raises them."""
    if type(value) is int and width.least <= value <= width.most:
        return value
    if not isinstance(value, SupportsInt | SupportsIndex):
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
