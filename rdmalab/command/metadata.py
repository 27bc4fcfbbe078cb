"""Metadata of annotations: units, widths, ranges, aliases, short forms of values."""

import enum
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

from rdmalab.command.arguments import Noun, Thing


class Unit(enum.Enum):
    """The unit of an integer, which decides its suffixes."""

    NUMBER = enum.auto()
    BYTES = enum.auto()  # 4KiB
    NS = enum.auto()  # 10us, a unit is required
    PSN = enum.auto()  # 24 bits on a circle
    BITS_PER_S = enum.auto()  # 100Gbps
    GID = enum.auto()  # ::ffff:10.0.0.2, 10.0.0.2, fe80::1
    MAC = enum.auto()  # 02:00:0a:00:00:01
    PPM = enum.auto()  # a probability, 0.02 or 2%, in parts per million


Bytes = Annotated[int, Unit.BYTES]
Nanoseconds = Annotated[int, Unit.NS]
BitRate = Annotated[int, Unit.BITS_PER_S]
Probability = Annotated[int, Unit.PPM]


class Bits(NamedTuple):
    """Width of the C integer, in bits: metadata. -1 is stored as C stores it, with all bits set."""

    width: int


class Range(NamedTuple):
    """Metadata: the smallest and the greatest valid number."""

    low: int
    high: int | None = None


class Spelled(dict[str, int]):
    """Further spellings of enum values (`1024` for IBV_MTU_1024): metadata of an annotation."""


class RefShorthand(NamedTuple):
    """A value that may be written as a reference: `sg=A.mr0[0:64]`, `dest_qp_num=B.qp0`.

    `convert(world, thing, start, stop)` gives the value; it runs when the command is bound.
    number: a plain number is accepted too, as a pointer in C.
    """

    noun: Noun
    convert: Callable[[object, Thing, int | None, int | None], object]
    number: Callable[[int], object] | None = None
    also: tuple[Noun, ...] = ()  # other things that can stand there


class FieldGroup(NamedTuple):
    """A key that stands for several fields of its record: `remote=B.mr0[100]`, `ah=B`.

    `convert(world, thing, start, stop)` gives a dict field → value, for the fields in `fills`.
    """

    key: str
    noun: Noun
    convert: Callable[[Any, Thing, int | None, int | None], dict[str, Any]]
    fills: tuple[str, ...]
    also: tuple[Noun, ...] = ()


class Alias(NamedTuple):
    """Another name under which a field may be written: `qp_state` for `state`."""

    name: str


class InC(NamedTuple):
    """Path of a field in the struct of C: `wr.rdma.remote_addr`, which may be written as well.

    The outer steps may be left out, from the left: `rdma.remote_addr`.
    """

    path: str


class OneOf(tuple[str, ...]):
    """Metadata: the valid words of a text, from a table."""

    __slots__ = ()


class ReadOnlyWhen(NamedTuple):
    """Metadata: with this value of the parameter (or any) the command is no event.

    It only reads, or is a short form, and is not journaled.
    """

    word: str | None = None


POINTER = "pointer"
"""Metadata of a value that may be NULL: C has a pointer there, so that 0 is NULL too."""

TOPIC = "topic"
"""Metadata of an expression: it names the subject of `why`, not a value."""

FLAT = "flat"
"""Metadata of a record: its fields may also be written without braces."""

SPOKEN = "spoken"
"""Metadata: this keyword may also be written as two words, `within 2ms`."""


class Flag(NamedTuple):
    """Metadata of a Boolean: the word that makes it True, `-v`."""

    word: str


PROSE = "prose"
"""Metadata: this text takes the rest of the line unparsed, also `status=12`."""
