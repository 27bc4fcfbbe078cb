"""How a typed function becomes a command: kinds, defaults, names."""

import enum
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import pytest

from rdmalab.command import (
    PROSE,
    REQUIRED,
    SCRIPTABLE,
    SPOKEN,
    Alias,
    Bits,
    BooleanKind,
    Bytes,
    Direction,
    DirectionKind,
    EnumKind,
    Expression,
    ExpressionKind,
    Facts,
    FieldGroup,
    IntegerKind,
    Invocation,
    Lines,
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
    Ref,
    RefShorthand,
    Region,
    Span,
    Spelled,
    TextKind,
    Thing,
    ThingKind,
    Unit,
    WordKind,
    aliases,
    command,
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


def test_a_function_is_its_grammar() -> None:
    @command
    def next_(
        world: int, qp: Annotated[Thing, Noun.QP], *, within: Annotated[int, SPOKEN] = 3
    ) -> None:
        """Say what comes.

        And more.
        """

    assert (next_.name, next_.changes_world, next_.room) == ("next", True, "test_command")
    assert next_.summary == "Say what comes."
    assert next_.documentation.endswith("\nAnd more.")
    qp, within = next_.parameters
    assert (qp.name, qp.positional, qp.required, qp.spoken) == ("qp", True, True, False)
    assert (within.positional, within.default, within.spoken) == (False, 3, True)


def test_a_parameter_whose_name_python_keeps_for_itself() -> None:
    @command
    def move(world: int, *, from_: int = 0) -> None: ...

    assert [parameter.name for parameter in move.parameters] == ["from"]


def test_a_command_that_looks_changes_no_world() -> None:
    @command
    def look(session: int) -> None: ...

    assert not look.changes_world
    assert look.summary == ""


@pytest.mark.parametrize(
    ("ref", "text"),
    [
        (Ref("A", "mr0"), "A.mr0"),
        (Ref("B"), "B"),
        (Ref("A", "mr0", 7), "A.mr0[7]"),
        (Ref("A", "mr0", 0, 64), "A.mr0[0:64]"),
    ],
)
def test_a_reference_reads_as_it_is_written(ref: Ref, text: str) -> None:
    assert str(ref) == text


def test_where_it_stood_is_no_part_of_what_was_asked() -> None:
    here, there = Span(0, 3), Span(9, 12)
    assert Ref("A", "qp0", place=here) == Ref("A", "qp0", place=there)
    assert Invocation("step", {}, "step", {"": here}) == Invocation(
        "step", {}, "  step", {"": there}
    )


def test_a_command_that_declares_nothing_is_for_the_prompt_only() -> None:
    @command
    def dump(world: int, file: str) -> None: ...

    assert (dump.facts.in_scenarios, dump.in_programs) == (False, False)


def test_programs_take_what_changes_the_world_and_starts_no_program() -> None:
    @command(SCRIPTABLE)
    def change(world: int) -> None: ...

    @command(SCRIPTABLE)
    def look(session: int) -> None: ...

    @command(SCRIPTABLE)
    def start(world: int, *, lines: Lines) -> None: ...

    @command(Facts(in_scenarios=True, in_programs=False))
    def end(world: int) -> None: ...

    assert [each.in_programs for each in (change, look, start, end)] == [True, False, False, False]


def test_what_touches_files_cannot_stand_in_a_scenario() -> None:
    with pytest.raises(TypeError, match="cannot stand in a scenario"):
        Facts(touches_files=True, in_scenarios=True)


def test_short_spellings_stand_at_their_command() -> None:
    @command(Facts(short=(("s", ""), ("n", "packet"))))
    def step(session: int) -> None: ...

    assert aliases({"step": step}) == {"s": "step", "n": "step packet"}
