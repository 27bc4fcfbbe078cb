"""Values of arguments: objects by name or number, byte ranges, moments, expressions."""

import enum
from dataclasses import field
from typing import Any, NamedTuple

from rdmalab.spec.row import dataclass


class Noun(enum.StrEnum):
    """The types of objects that have names."""

    NODE = "node"
    PD = "pd"
    MR = "mr"
    CQ = "cq"
    QP = "qp"
    AH = "ah"
    SRQ = "srq"
    XRCD = "xrcd"
    MW = "mw"
    CHANNEL = "channel"
    TD = "td"
    FLOW = "flow"
    PROGRAM = "program"


class Thing(NamedTuple):
    """One object of one node, by number; plain data, valid across snapshots."""

    noun: Noun
    node: str
    number: int


class Region(NamedTuple):
    """Bytes [start, stop) of an object; None: its beginning or its end."""

    thing: Thing
    start: int | None
    stop: int | None


class Span(NamedTuple):
    """Columns [start, stop) of a line, counted from 0."""

    start: int
    stop: int


NOWHERE = Span(0, 0)


@dataclass(slots=True)
class Ref:
    """A name as written, not looked up: `A.mr0`, `A.mr0[0:64]`, `B.mr0[100]`, or a node, `B`.

    part: a field of the object as C has it, `A.mr0.lkey`; of `A.mr0.addr+8` start is 8.
    """

    node: str
    name: str = ""
    start: int | None = None
    stop: int | None = None
    part: str = ""
    place: Span = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        name = f"{self.node}.{self.name}" if self.name else self.node
        if self.part:
            return f"{name}.{self.part}" + (f"+{self.start}" if self.start else "")
        if self.start is None:
            return name
        return f"{name}[{self.start}]" if self.stop is None else f"{name}[{self.start}:{self.stop}]"


class Fresh(list[object]):
    """A list made for one call: nothing else refers to it, or to what it lists."""

    __slots__ = ()


@dataclass(slots=True)
class New:
    """The name for the object that the command creates."""

    noun: Noun
    node: str
    name: str
    place: Span = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        return f"{self.node}.{self.name}"


@dataclass(slots=True)
class Expression:
    """A question about the world: its text and, in `node`, the grammar's parse of it."""

    text: str
    node: Any = field(repr=False, default=None)
    place: Span = field(default=NOWHERE, compare=False)


@dataclass(slots=True)
class Lines:
    """The lines of a program: their text, and in `parsed` the grammar's reading of them."""

    text: str
    parsed: list[Any] = field(repr=False, compare=False, default_factory=list)
    place: Span = field(default=NOWHERE, compare=False)


class Direction(NamedTuple):
    """One way along the cable: `A->B`."""

    source: str
    target: str


class Moment(NamedTuple):
    """A moment: after an event, at a time (ns), or a mark.

    A mark is a checkpoint `@name`, `start`, `end`, `now`, or a branch of time: its end.
    """

    event: int | None = None
    at_ns: int | None = None
    mark: str = ""
