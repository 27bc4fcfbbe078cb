"""Declaration of a header: names and bits. Lengths, offsets, packing and legends are derived."""

from typing import (
    Annotated,
    ClassVar,
    NamedTuple,
    Self,
    TypeVar,
    dataclass_transform,
    get_type_hints,
)

from rdmalab.spec.row import dataclass


# No NamedTuple: it would equal the one of `command` that has the same width, and in Python 3.11.2
# `Annotated` gives back what it has made for equal arguments: work requests got this one.
@dataclass(frozen=True, slots=True)
class Bits:
    """Width of a field on the wire, in bits."""

    width: int


B1 = Annotated[int, Bits(1)]
B2 = Annotated[int, Bits(2)]
B3 = Annotated[int, Bits(3)]
B4 = Annotated[int, Bits(4)]
B5 = Annotated[int, Bits(5)]
B6 = Annotated[int, Bits(6)]
B7 = Annotated[int, Bits(7)]
B8 = Annotated[int, Bits(8)]
B11 = Annotated[int, Bits(11)]
B13 = Annotated[int, Bits(13)]
B16 = Annotated[int, Bits(16)]
B20 = Annotated[int, Bits(20)]
B24 = Annotated[int, Bits(24)]
B26 = Annotated[int, Bits(26)]
B32 = Annotated[int, Bits(32)]
B48 = Annotated[int, Bits(48)]
B64 = Annotated[int, Bits(64)]
B128 = Annotated[int, Bits(128)]


class Field(NamedTuple):
    """One field of a header; bit 0 is the first on the wire."""

    name: str
    bits: int
    offset: int


class Header:
    """The methods of every class under `@header`."""

    __slots__ = ()
    ABOUT: ClassVar[str] = ""  # what it is for, where the names of its fields do not say it
    LENGTH: ClassVar[int]  # bytes
    FIELDS: ClassVar[tuple[Field, ...]]
    SHIFTS: ClassVar[tuple[tuple[int, int], ...]]  # (shift, mask) of each, in the header as one int

    def pack(self) -> bytes:
        """The header as bytes, big-endian; raises ValueError if a value exceeds its bits."""
        folded = 0
        for name, bits, _ in self.FIELDS:
            value: int = getattr(self, name)
            if value >> bits:
                raise ValueError(f"{type(self).__name__}.{name} = {value:#x} is not {bits} bits")
            folded = folded << bits | value
        return folded.to_bytes(self.LENGTH, "big")

    @classmethod
    def unpack(cls, data: bytes, offset: int = 0) -> Self:
        """Read a header at `offset` (bytes); raises ValueError if the data are too short."""
        octets = data[offset : offset + cls.LENGTH]
        if len(octets) < cls.LENGTH:
            raise ValueError(f"{cls.__name__} needs {cls.LENGTH} bytes, not {len(octets)}")
        folded = int.from_bytes(octets, "big")
        return cls(*[folded >> shift & mask for shift, mask in cls.SHIFTS])

    def described(self) -> tuple[str, list[tuple[str, int | bytes]]]:
        """Its name, with its fields and their values in the order of the wire."""
        return type(self).__name__, [(name, int(getattr(self, name))) for name, _, _ in self.FIELDS]

    @classmethod
    def layout(cls) -> tuple[Field, ...]:
        """All fields in the order of the wire."""
        return cls.FIELDS

    @classmethod
    def field(cls, name: str) -> Field:
        """The field of this name; raises StopIteration if there is none."""
        return next(field for field in cls.FIELDS if field.name == name)

    @classmethod
    def ones(cls, *names: str) -> bytes:
        """A header of ones in these fields and zeros elsewhere."""
        ones = {field.name: (1 << field.bits) - 1 for field in map(cls.field, names)}
        return cls(*[ones.get(field.name, 0) for field in cls.FIELDS]).pack()


H = TypeVar("H", bound=Header)


@dataclass_transform()
def header(cls: type[H]) -> type[H]:
    """Turn a class of `name: B8` annotations into a slots dataclass that knows its bytes."""
    made = dataclass(slots=True)(cls)
    fields: list[Field] = []
    total = 0
    for name, hint in get_type_hints(cls, include_extras=True).items():
        if name in cls.__annotations__:
            bits = hint.__metadata__[0].width
            fields.append(Field(name, bits, total))
            total += bits
    if total % 8:
        raise TypeError(f"{cls.__name__} has {total} bits, which are no whole bytes")
    made.LENGTH = total // 8
    made.FIELDS = tuple(fields)
    made.SHIFTS = tuple((total - offset - bits, (1 << bits) - 1) for _, bits, offset in fields)
    return made
