"""Kinds of argument: what an annotation of a parameter or of a field of a record means."""

import dataclasses
import enum
import types
import typing
from collections.abc import Callable
from dataclasses import field
from typing import Annotated, Literal

from rdmalab.command.arguments import (
    Direction,
    Expression,
    Lines,
    Moment,
    New,
    Noun,
    Ref,
    Region,
    Thing,
)
from rdmalab.command.metadata import (
    FLAT,
    POINTER,
    PROSE,
    SPOKEN,
    TOPIC,
    Alias,
    Bits,
    FieldGroup,
    Flag,
    InC,
    OneOf,
    Range,
    ReadOnlyWhen,
    RefShorthand,
    Spelled,
    Unit,
)
from rdmalab.spec.row import dataclass


@dataclass(frozen=True, slots=True)
class ArgumentKind:
    """Base of all kinds: whether NULL, 0 as NULL, or a reference is allowed."""

    nullable: bool = field(default=False, kw_only=True)
    pointer: bool = field(default=False, kw_only=True)
    short: RefShorthand | None = field(default=None, kw_only=True)


@dataclass(frozen=True, slots=True)
class IntegerKind(ArgumentKind):
    """A whole number in `unit`, as wide as C has it, or within a range."""

    unit: Unit = Unit.NUMBER
    bits: Bits | None = None
    range: Range | None = None


@dataclass(frozen=True, slots=True)
class EnumKind(ArgumentKind):
    """One member of an enum, or a number without a member; `A|B` where the enum is a flag set."""

    enum: type[enum.IntEnum] | type[enum.IntFlag]
    spelled: tuple[tuple[str, int], ...] = ()

    @property
    def is_flags(self) -> bool:
        return issubclass(self.enum, enum.IntFlag)


@dataclass(frozen=True, slots=True)
class TextKind(ArgumentKind):
    """A bare word or a quoted string."""


@dataclass(frozen=True, slots=True)
class ProseKind(ArgumentKind):
    """The rest of the line, or a quoted string."""


@dataclass(frozen=True, slots=True)
class WordKind(ArgumentKind):
    """One of a few words."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ThingKind(ArgumentKind):
    """An existing object (noun None: any), optionally followed by a byte range."""

    noun: Noun | None
    ranged: bool = False


@dataclass(frozen=True, slots=True)
class NewKind(ArgumentKind):
    """A name not yet taken."""

    noun: Noun


@dataclass(frozen=True, slots=True)
class ExpressionKind(ArgumentKind):
    """An expression up to a keyword such as `within`. is_topic: it names a subject of `why`."""

    is_topic: bool = False


@dataclass(frozen=True, slots=True)
class LinesKind(ArgumentKind):
    """`{line; line}`: commands and the words of programs."""


@dataclass(frozen=True, slots=True)
class DirectionKind(ArgumentKind):
    """`A->B`."""


@dataclass(frozen=True, slots=True)
class MomentKind(ArgumentKind):
    """`30` or `ev30`, `9.2us`, `@before-nak`, `start`, `end`, `now`, or a branch, `main`."""


@dataclass(frozen=True, slots=True)
class BooleanKind(ArgumentKind):
    """0 or 1, off or on."""


@dataclass(frozen=True, slots=True)
class ListKind(ArgumentKind):
    """Several of one kind: `a,b` for values, `wr={…} wr={…}` for records."""

    item: ArgumentKind


@dataclass(frozen=True, slots=True)
class RecordKind(ArgumentKind):
    """A struct: flattened into `key=value`, or written `{key=value …}`.

    c_name: the struct of libibverbs that it is, from `C_NAME` of the record; empty for the lab's.
    """

    record: type
    fields: tuple["Parameter", ...]
    spreads: tuple[FieldGroup, ...] = ()
    flat: bool = False
    c_name: str = ""


class _Required(enum.Enum):
    REQUIRED = enum.auto()


REQUIRED = _Required.REQUIRED


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a command or one field of a record."""

    name: str
    kind: ArgumentKind
    default: object = REQUIRED
    positional: bool = False
    spoken: bool = False
    aliases: tuple[str, ...] = ()
    looks: ReadOnlyWhen | None = None
    in_c: tuple[str, ...] = ()
    flag: str = ""

    @property
    def dotted(self) -> list[str]:
        """The names of the field in C with the steps before it: all of them, then fewer."""
        steps = [path.split(".") for path in self.in_c]
        return [".".join(each[at:]) for each in steps for at in range(len(each) - 1)]

    @property
    def required(self) -> bool:
        return self.default is REQUIRED


def kind_of(annotation: object, metadata: tuple[object, ...] = ()) -> ArgumentKind:
    """The kind of argument for an annotation; raises TypeError if there is none."""
    if typing.get_origin(annotation) is Annotated:
        inner, *more = typing.get_args(annotation)
        return kind_of(inner, (*metadata, *more))
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        (inner,) = [a for a in typing.get_args(annotation) if a is not types.NoneType]
        kind = kind_of(inner, metadata)
        is_object = isinstance(kind, ThingKind) and kind.noun is not None  # no question's subject
        is_pointer = is_object or isinstance(kind, ListKind) or POINTER in metadata
        return dataclasses.replace(kind, nullable=True, pointer=is_pointer)
    short = next((m for m in metadata if isinstance(m, RefShorthand)), None)
    kind = _container_kind(annotation, metadata) or _class_kind(annotation, metadata)
    if short is None or isinstance(kind, ListKind):  # of a list, each item may be written short
        return kind
    return dataclasses.replace(kind, short=short)


def _container_kind(annotation: object, metadata: tuple[object, ...]) -> ArgumentKind | None:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is list:  # NULL is a list without entries
        is_pointer = POINTER in metadata
        item = kind_of(arguments[0], metadata)
        return ListKind(item, nullable=is_pointer, pointer=is_pointer)
    if origin is Literal:
        return WordKind(arguments)
    return None


_SIMPLE: dict[object, Callable[[Noun | None, tuple[object, ...]], ArgumentKind]] = {
    bool: lambda _noun, _metadata: BooleanKind(),
    str: lambda _noun, metadata: ProseKind() if PROSE in metadata else TextKind(),
    Thing: lambda noun, _metadata: ThingKind(noun),
    Ref: lambda noun, _metadata: ThingKind(noun, ranged=True),
    Region: lambda noun, _metadata: ThingKind(noun, ranged=True),
    Expression: lambda _noun, metadata: ExpressionKind(is_topic=TOPIC in metadata),
    Lines: lambda _noun, _metadata: LinesKind(),
    Direction: lambda _noun, _metadata: DirectionKind(),
    Moment: lambda _noun, _metadata: MomentKind(),
}
"""Kinds of classes that need no more than their noun and metadata."""


def _class_kind(cls: object, metadata: tuple[object, ...]) -> ArgumentKind:
    noun = next((m for m in metadata if isinstance(m, Noun)), None)
    if cls is int:
        unit = next((m for m in metadata if isinstance(m, Unit)), Unit.NUMBER)
        bits = next((m for m in metadata if isinstance(m, Bits)), None)
        return IntegerKind(unit, bits, next((m for m in metadata if isinstance(m, Range)), None))
    words = next((m for m in metadata if isinstance(m, OneOf)), None)
    if words is not None:
        return WordKind(tuple(words))
    if cls is New and noun is not None:
        return NewKind(noun)
    if (made := _SIMPLE.get(cls)) is not None:
        return made(noun, metadata)
    if isinstance(cls, type) and issubclass(cls, enum.IntEnum | enum.IntFlag):
        spelled = next((m for m in metadata if isinstance(m, Spelled)), Spelled())
        return EnumKind(cls, tuple(spelled.items()))
    if dataclasses.is_dataclass(cls) and isinstance(cls, type):
        return _record_kind(cls, metadata)
    raise TypeError(f"no kind of argument for {cls!r}")


def _record_kind(cls: type, metadata: tuple[object, ...]) -> RecordKind:
    hints = typing.get_type_hints(cls, include_extras=True)
    parameters = tuple(
        parameter_of(f.name, hints[f.name], _field_default(f))
        for f in dataclasses.fields(cls)
        if f.init
    )
    spreads = tuple(m for m in metadata if isinstance(m, FieldGroup))
    c_name = vars(cls).get("C_NAME", "")
    return RecordKind(cls, parameters, spreads, FLAT in metadata, c_name)


def _field_default(of: "dataclasses.Field[object]") -> object:
    if of.default is not dataclasses.MISSING:
        return of.default
    return REQUIRED if of.default_factory is dataclasses.MISSING else None


def parameter_of(
    name: str, annotation: object, default: object, *, positional: bool = False
) -> Parameter:
    """The parameter of a command, or the field of a record, with this name and annotation."""
    metadata = typing.get_args(annotation)[1:] if typing.get_origin(annotation) is Annotated else ()
    aliases = tuple(m.name for m in metadata if isinstance(m, Alias))
    looks = next((m for m in metadata if isinstance(m, ReadOnlyWhen)), None)
    in_c = tuple(m.path for m in metadata if isinstance(m, InC))
    flag = next((m.word for m in metadata if isinstance(m, Flag)), "")
    spoken = SPOKEN in metadata
    kind = kind_of(annotation)
    return Parameter(name, kind, default, positional, spoken, aliases, looks, in_c, flag)
