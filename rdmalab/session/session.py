"""The session: what was asked for, in order; a journal and a seed are the whole truth."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rdmalab.command import (
    NOWHERE,
    Command,
    Invocation,
    New,
    NotUnderstood,
    Noun,
    Ref,
    Refused,
    Thing,
)
from rdmalab.session.bind import Binder
from rdmalab.session.names import Names
from rdmalab.session.travel import MAX_EVENTS, Goal, Travel
from rdmalab.spec.records import Kind
from rdmalab.world.world import World

_CALLED, _DESTROYED = Kind.CALLED, Kind.DESTROYED
_NAMING = (Ref, New)


class Entry(NamedTuple):
    """One line of the journal: what was asked, as which event, at which time."""

    event: int
    at_ns: int
    invocation: Invocation


@dataclass(slots=True)
class Outcome:
    """What came of one invocation.

    event: its number, None if it changed nothing. refusal: the errno it answered with.
    """

    invocation: Invocation
    event: int | None = None
    value: Any = None
    refusal: Refused | None = None


@dataclass(slots=True)
class Session:
    """A world, its names, its journal.

    answer: who answers questions about the world (the lens, put in by the lab). anew: opens the
    same lab once more, as it was before the first word.
    """

    world: World
    vocabulary: Mapping[str, Command]
    seed: int = 0
    answer: Callable[[Any], Any] | None = None
    anew: Callable[[], "Session"] | None = None
    max_events: int = MAX_EVENTS
    default_node: str = ""
    names: Names = field(init=False)
    binder: Binder = field(init=False)
    journal: list[Entry] = field(default_factory=list)
    checkpoints: dict[str, tuple[int, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.names = Names(self.world.nodes)
        self.binder = Binder(self.world, self.names)

    def perform(self, invocation: Invocation) -> Outcome:
        """Carry out one command. NotUnderstood if it means nothing here: then nothing happened."""
        command = self.vocabulary.get(invocation.name)
        if command is None:
            raise NotUnderstood(f'no verb "{invocation.name}"', hint="help lists them all")
        try:
            return self._carry_out(command, invocation)
        except NotUnderstood as error:
            if error.place == NOWHERE and error.argument:
                error.place = invocation.places.get(error.argument, NOWHERE)
            raise

    def _carry_out(self, command: Command, invocation: Invocation) -> Outcome:
        try:
            arguments = self.binder.bind(command, invocation)
        except Refused as gone:  # an argument reads a field of something that was destroyed
            if not command.changes_world:
                raise
            self.world.begin_event()
            return self._told(command, Outcome(invocation, self.world.event, refusal=gone))
        if not command.changes_world:
            return Outcome(invocation, value=command.function(self, **arguments))
        return self._as_event(command, invocation, arguments)

    def _as_event(
        self, command: Command, invocation: Invocation, arguments: dict[str, Any]
    ) -> Outcome:
        world = self.world
        world.begin_event()
        outcome = Outcome(invocation, world.event)
        first = len(world.trace.records)
        try:
            outcome.value = command.function(world, **arguments)
        except Refused as refusal:
            outcome.refusal = refusal
        except NotUnderstood:
            world.cancel_event()
            raise
        self._told(command, outcome)
        self._name(arguments, outcome.value)
        self._bury(first)
        return outcome

    def _told(self, command: Command, outcome: Outcome) -> Outcome:
        """Into the journal, and into the log."""
        world, invocation = self.world, outcome.invocation
        self.journal.append(Entry(world.event, world.now_ns, invocation))
        errno = outcome.refusal.errno if outcome.refusal else 0
        world.trace.record(_CALLED, _node_of(command, invocation), 0, command.name, errno)
        return outcome

    def _name(self, arguments: dict[str, Any], made: Any) -> None:
        if isinstance(made, Thing):
            for value in arguments.values():
                if isinstance(value, New):
                    self.names.give(str(value), made)

    def _bury(self, first: int) -> None:
        for record in self.world.trace.records[first:]:
            _, _, _, kind, node, number, noun, _ = record
            if kind is _DESTROYED:
                self.names.bury(Thing(Noun(noun), node, number))

    def travel(self, goal: Goal) -> Travel:
        """Set out towards a goal; nothing moves before `go`."""
        return Travel(self, goal)

    def afresh(self) -> "Session":
        """The same lab in which nothing was said yet, to play the journal in."""
        if self.anew is None:
            raise NotUnderstood("nobody is here who could open this lab once more")
        return self.anew()

    def ask(self, node: Any) -> Any:
        """The answer to a parsed question about the world."""
        if self.answer is None:
            raise NotUnderstood("nobody is here to answer questions about the world")
        return self.answer(node)


def _node_of(command: Command, invocation: Invocation) -> str:
    """The node that a command speaks to: that of its first object."""
    for parameter in command.parameters:
        value = invocation.arguments.get(parameter.name)
        if isinstance(value, _NAMING):
            return value.node
    return ""
