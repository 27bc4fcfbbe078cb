"""A program as plain data: its counter, its open loops, what it waits for."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from rdmalab.command import Invocation, Noun, Refused, Thing
from rdmalab.grammar.program import Line
from rdmalab.spec.programs import BLOCKING, FREE, ProgramState

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdmalab.grammar.nodes import Node


class Carried(NamedTuple):
    """The result of one verb. subject: the object that it was called for."""

    value: object = None
    refusal: Refused | None = None
    subject: Thing | None = None

    @property
    def blocks(self) -> bool:
        """Whether C would have blocked."""
        return self.refusal is not None and self.refusal.rule in BLOCKING


@dataclass(slots=True, eq=False)
class Program:
    """One thread. at: index of the next line; loops: remaining repetitions of each open loop.

    since_ns: when it entered its state. why: the error it failed with. wants: for a blocked verb,
    the rule and the object; None while it waits for a condition.
    """

    node: str
    number: int
    lines: list[Line]
    pace_ns: int
    at: int = 0
    loops: list[int] = field(default_factory=list)
    state: ProgramState = ProgramState.RUNNING
    since_ns: int = 0
    why: str = ""
    wants: tuple[str, Thing] | None = None

    @property
    def thing(self) -> Thing:
        """The program as names and log have it."""
        return Thing(Noun.PROGRAM, self.node, self.number)

    @property
    def line(self) -> Line:
        """The line that comes; of a program that is done the last."""
        return self.lines[min(self.at, len(self.lines) - 1)]

    def skip_free(self) -> None:
        """Walk over what takes no time, to the line that comes."""
        while self.at < len(self.lines) and self.lines[self.at].word in FREE:
            _SKIP[self.lines[self.at].word](self)


def _begin_loop(program: Program) -> None:
    program.loops.append(program.lines[program.at].amount)
    program.at += 1


def _skip_else(program: Program) -> None:
    """The part before it was done."""
    program.at = program.lines[program.at].jump


def _turn_or_leave(program: Program) -> None:
    """The end of an if leads on; that of a loop back, while turns are left."""
    jump = program.lines[program.at].jump
    left = 1 if jump < 0 else program.loops.pop()
    if left == 1:
        program.at += 1
        return
    program.loops.append(left and left - 1)
    program.at = jump


_SKIP = {"loop": _begin_loop, "else": _skip_else, "end": _turn_or_leave}


class Programs:
    """The waiting programs, in the order in which they began to wait.

    carry_out, holds: callbacks from the room that has the vocabulary and the names. They execute
    one verb within the current event and evaluate one condition; NotUnderstood where it has no
    meaning. touches: whether the last event may have changed a condition; None: any may have.
    """

    __slots__ = ("carry_out", "holds", "touches", "waiting")

    def __init__(self) -> None:
        self.carry_out: Callable[[Invocation], Carried] | None = None
        self.holds: Callable[[Node], bool] | None = None
        self.touches: Callable[[Node], bool] | None = None
        self.waiting: list[Program] = []
