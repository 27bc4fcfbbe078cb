"""The kind of argument of each annotation."""

import enum
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import pytest

from rdmalab.command import (
    PROSE,
    REQUIRED,
    Alias,
    Bits,
    BooleanKind,
    Bytes,
    Direction,
    DirectionKind,
    EnumKind,
    Expression,
    ExpressionKind,
    FieldGroup,
    IntegerKind,
    ListKind,
    Moment,
    MomentKind,
    New,
    NewKind,
    Noun,
    OneOf,
    ProseKind,
    Range,
    RecordKind,
    RefShorthand,
    Region,
    Spelled,
    TextKind,
    Thing,
    ThingKind,
    Unit,
    WordKind,
    kind_of,
)


class Colour(enum.IntEnum):
    RED = 1


class Rights(enum.IntFlag):
    READ = 1


SHORT = RefShorthand(Noun.QP, lambda _world, thing, _start, _stop: thing.number)
SPREAD = FieldGroup("all", Noun.NODE, lambda _w, _t, _a, _b: {"a": 1}, ("a",))


@dataclass
class Point:
    a: Annotated[int, Alias("alpha")]
    b: int = 7
    c: list[int] = field(default_factory=list)
    d: int = field(default=0, init=False)


@pytest.mark.parametrize(
    ("annotation", "kind"),
    [
        (int, IntegerKind()),
        (Bytes, IntegerKind(Unit.BYTES)),
        (Annotated[int, Bits(8)], IntegerKind(bits=Bits(8))),
        (Annotated[Bytes, Range(1)] | None, IntegerKind(Unit.BYTES, None, Range(1), nullable=True)),
        (int | None, IntegerKind(nullable=True)),
        (Annotated[int | None, SHORT], IntegerKind(nullable=True, short=SHORT)),
        (str, TextKind()),
        (Annotated[str, PROSE], ProseKind()),
        (Annotated[str, OneOf(("x", "y"))], WordKind(("x", "y"))),
        (Literal["up", "down"], WordKind(("up", "down"))),
        (bool, BooleanKind()),
        (Thing, ThingKind(None)),
        (Annotated[Thing, Noun.CQ], ThingKind(Noun.CQ)),
        (Annotated[Region, Noun.MR], ThingKind(Noun.MR, ranged=True)),
        (Annotated[New, Noun.PD], NewKind(Noun.PD)),
        (Expression, ExpressionKind()),
        (Direction, DirectionKind()),
        (Moment, MomentKind()),
        (Annotated[Colour, Spelled({"rot": 1})], EnumKind(Colour, (("rot", 1),))),
        (list[int], ListKind(IntegerKind())),
        (list[Annotated[int, SHORT]], ListKind(IntegerKind(short=SHORT))),
    ],
)
def test_an_annotation_is_a_kind(annotation: Any, kind: Any) -> None:
    assert kind_of(annotation) == kind


@pytest.mark.parametrize("annotation", [float, dict, set[int], Any, New])
def test_what_cannot_be_typed_at_a_prompt_is_no_argument(annotation: Any) -> None:
    with pytest.raises(TypeError, match="no kind of argument"):
        kind_of(annotation)


def test_flags_may_be_joined_and_other_enums_not() -> None:
    of_flags, of_enum = kind_of(Rights), kind_of(Colour)
    assert isinstance(of_flags, EnumKind)
    assert isinstance(of_enum, EnumKind)
    assert (of_flags.is_flags, of_enum.is_flags) == (True, False)


def test_a_record_has_the_fields_that_can_be_given() -> None:
    kind = kind_of(Annotated[Point, SPREAD])
    assert isinstance(kind, RecordKind)
    assert [(p.name, p.default, p.aliases) for p in kind.fields] == [
        ("a", REQUIRED, ("alpha",)),
        ("b", 7, ()),
        ("c", None, ()),
    ]
    assert kind.spreads == (SPREAD,)
    assert [p.required for p in kind.fields] == [True, False, False]
