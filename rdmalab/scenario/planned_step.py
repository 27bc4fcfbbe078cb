"""A step of a scenario that is ready to run, and the places of its texts in the file."""

from typing import NamedTuple, Protocol

from yaml.nodes import Node

from rdmalab.command import Invocation, NotUnderstood, Span
from rdmalab.scenario import yaml_tree
from rdmalab.scenario.expect import Expectation
from rdmalab.scenario.model import Step
from rdmalab.scenario.source import FileError, Source, SourcePlace, visible
from rdmalab.scenario.wire import Lines
from rdmalab.spec.row import dataclass


class Placing(Protocol):
    """A text of a file. source: the file."""

    @property
    def source(self) -> Source: ...

    def error(self, wrong: NotUnderstood) -> FileError:
        """Error with the message of `wrong` and its place in the file."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A scalar of the file.

    Lead: number of characters at the start of the line that the file lacks.
    """

    source: Source
    node: Node
    lead: int = 0

    def error(self, wrong: NotUnderstood) -> FileError:
        """Error with its place in the file."""
        start, stop = (max(0, column - self.lead) for column in wrong.place)
        if wrong.place == Span(0, 0):
            stop = len(getattr(self.node, "value", ""))
        place = yaml_tree.place_in(self.source, self.node, start, max(stop, start + 1))
        return self.source.error(wrong.message, wrong.hint, place)


@dataclass(frozen=True, slots=True)
class LineSpot:
    """A line of a file of lines."""

    source: Source
    number: int

    def error(self, wrong: NotUnderstood) -> FileError:
        """Error with its line; other line breaks of Unicode may be in the lines above."""
        line = self.source.text.split("\n", self.number)[self.number - 1]
        text = "\n" * (self.number - 1) + visible(line)
        place = SourcePlace(self.number, 1)
        return FileError(self.source.path, wrong.message, wrong.hint, place, text)


class Call(NamedTuple):
    """A call that was recorded, from line `number`. errno: that it returned, 0: none. text: a line.

    at_ns: its time; None: nothing happened before it, and no time passed. by: the program that
    called, and where in its source; empty: not known.
    """

    number: int
    at_ns: int | None
    errno: int
    invocation: Invocation
    text: str
    by: str = ""


@dataclass(frozen=True, slots=True)
class PiecedText:
    """A text of several scalars of the file, one a line. lead: as in Spot."""

    source: Source
    nodes: list[Node]
    lead: int

    @property
    def whole(self) -> str:
        return "\n".join(str(node.value) for node in self.nodes)

    def error(self, wrong: NotUnderstood) -> FileError:
        """Error with its place in the scalar where it begins."""
        start = wrong.place.start - self.lead
        node = self.nodes[0]
        for node in self.nodes:
            if start <= len(node.value):
                break
            start -= len(node.value) + 1
        width = wrong.place.stop - wrong.place.start
        place = yaml_tree.place_in(self.source, node, max(0, start), max(0, start) + max(1, width))
        return self.source.error(wrong.message, wrong.hint, place)


@dataclass(frozen=True, slots=True)
class Placed:
    """A line of `expect`, and its place."""

    expectation: Expectation
    spot: Spot

    @property
    def text(self) -> str:
        return self.expectation.text


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """A step, ready to run. line: its commands as text, empty for a note; invocations: parsed.

    calls: of a session file instead, each with its time.
    """

    step: Step
    place: SourcePlace
    is_setup: bool
    line: str
    spot: Placing
    errno: int
    expect: tuple[Placed, ...]
    wire: Lines | None
    wire_spots: tuple[Spot, ...]
    goal: tuple[Placed, ...] = ()
    invocations: tuple[Invocation, ...] = ()
    calls: tuple[Call, ...] = ()

    @property
    def is_stop(self) -> bool:
        """Whether stepping through the scenario stops before it, for reading."""
        return bool(self.text)

    @property
    def text(self) -> str:
        """Text to show before it runs: its headline, then its note or its question; or empty."""
        parts = (self.step.name, self.step.note or self.step.predict)
        return "\n\n".join(part.strip() for part in parts if part)
