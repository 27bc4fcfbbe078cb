"""The pydantic model of parameters of a lab (by student, by world), and their draw."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Annotated

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from rdmalab.classroom.owner import folded
from rdmalab.scenario import field_types
from rdmalab.scenario.model import Section

MOST_WORLDS = 500
"""The most combinations of values that `vary` may have."""

_SCALARS = {"type": "array", "items": {"type": ["string", "number"]}, "minItems": 1}
Values = Annotated[
    list[field_types.Sentence], Field(min_length=1, max_length=100), WithJsonSchema(_SCALARS)
]


def _truth(value: object) -> bool:
    if value not in ("true", "false", True, False):
        raise field_types.wrong("true or false is required here", "write true or false")
    return value in ("true", True)


def _range(value: object) -> object:
    """`0..9` as a list of numbers."""
    if not isinstance(value, str):
        return value
    low, dots, high = value.partition("..")
    if not dots or not low.isdecimal() or not high.isdecimal() or int(high) < int(low):
        raise field_types.wrong(f'"{value}" is not a range', "write 0..9, or a list")
    if int(high) - int(low) >= MOST_WORLDS:
        raise field_types.wrong("this range is too long", f"at most {MOST_WORLDS} values")
    return [str(number) for number in range(int(low), int(high) + 1)]


Truth = Annotated[bool, BeforeValidator(_truth), WithJsonSchema({"type": "boolean"})]
Points = Annotated[int, *field_types.integer(0, 1_000, "write 2")]
Seal = Annotated[
    str, Field(pattern=r"^(?:[0-9a-f]{2})+$"),
    WithJsonSchema({"type": "string", "pattern": "^(?:[0-9a-f]{2})+$"}),
]  # fmt: skip
Percent = Annotated[int, *field_types.integer(0, 100, "write 20")]
Tries = Annotated[int, *field_types.integer(1, 9, "write 1")]
SHUT = -1
"""The price of what a lab does not allow."""


def _price(value: object) -> object:
    return {"open": "0", "shut": SHUT}.get(value, value) if isinstance(value, str) else value


_ANY_POINTS = field_types.number(0, 1_000, "write open, shut, or the points that it costs")
Price = Annotated[
    int, BeforeValidator(lambda value: value if value == SHUT else _ANY_POINTS.func(value)),
    BeforeValidator(_price),
    WithJsonSchema({"anyOf": [
        {"type": "string", "enum": ["open", "shut"]},
        {"type": "integer", "minimum": 0, "maximum": 1_000},
    ]}),
]  # fmt: skip
VaryValues = Annotated[
    Values, BeforeValidator(_range),
    WithJsonSchema({"anyOf": [
        _SCALARS,
        {"type": "string", "pattern": r"^[0-9]+\.\.[0-9]+$"},
    ]}),
]  # fmt: skip


class LabParameter(Section):
    """A parameter, `${NAME}`: each student gets another value of it."""

    choose: Values | None = None
    """The values from which one is drawn."""
    low: field_types.Number | None = Field(None, alias="from")
    """The smallest number that is drawn."""
    high: field_types.Number | None = Field(None, alias="to")
    """The largest number that is drawn."""
    about: field_types.Sentence | None = None
    """Description, with its unit."""

    @model_validator(mode="before")
    @classmethod
    def _one_way(cls, given: object) -> object:
        if not isinstance(given, dict):
            raise field_types.wrong("a parameter is a mapping", "write {choose: [4, 8]}")
        keys = {"choose", "from", "to"} & given.keys()
        if keys not in ({"choose"}, {"from", "to"}):
            hint = "write {choose: [4, 8]} or {from: 1, to: 9}"
            raise field_types.wrong("a parameter of a lab is drawn in one way", hint)
        return given

    @model_validator(mode="after")
    def _upward(self) -> "LabParameter":
        if self.low is not None and self.high is not None and self.high < self.low:
            raise field_types.wrong("to is less than from", "exchange them", "to")
        return self

    @property
    def values(self) -> list[str]:
        """All values that can be drawn, in the order of the file."""
        if self.choose is not None:
            return self.choose
        assert self.low is not None
        assert self.high is not None
        return [str(number) for number in range(self.low, self.high + 1)]


def drawn(
    lab: str, salt: str, student: str, parameters: Mapping[str, LabParameter]
) -> dict[str, str]:
    """Name → value of each parameter. lab: its id. salt: of a class and year; empty: none.

    SHA-256 of the names chooses; so the work of another student does not fit, and anyone
    can compute what was drawn. Case and signs of the student do not count: the grader takes
    `S-1` for s1, and a student must not choose between draws.
    """
    whose = folded(student)
    return {
        name: parameter.values[_number(lab, salt, whose, name) % len(parameter.values)]
        for name, parameter in parameters.items()
    }


def shuffled(lab: str, salt: str, student: str, task: str, texts: Sequence[str]) -> list[int]:
    """The numbers from 0 of these texts, in the order that is drawn for a student."""
    whose = folded(student)
    return sorted(
        range(len(texts)), key=lambda number: _number(lab, salt, whose, task, texts[number])
    )


def _number(*names: str) -> int:
    return int.from_bytes(sha256("\0".join(names).encode()).digest()[:8], "big")
