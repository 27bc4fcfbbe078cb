"""The session: a world, its names, and the journal. Journal and seed determine everything."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import field
from typing import Any, NamedTuple

from rdmalab.command import (
    NOWHERE,
    Command,
    Expression,
    ExpressionKind,
    Invocation,
    Lines,
    New,
    NotUnderstood,
    Noun,
    Ref,
    Refused,
    Thing,
    aliases,
    is_query,
)
from rdmalab.grammar.nodes import Node
from rdmalab.session.branch import TimePoint
from rdmalab.session.breakpoints import Breakpoints
from rdmalab.session.history import History, read_only_visit
from rdmalab.session.journal import Entry, Journal
from rdmalab.session.names import Binder, Names
from rdmalab.spec.records import Kind
from rdmalab.spec.row import dataclass
from rdmalab.world.programs import Carried
from rdmalab.world.world import World


class Callers:
    """Those of the calls that were recorded, on the branch of the first of them."""

    def __init__(self, history: History) -> None:
        """Begin without any."""
        self._history = history
        self._branch = ""
        self._texts: dict[int, str] = {}

    def note(self, event: int, text: str) -> None:
        """A program has called in this event; text: which, and where in its source."""
        if not self._texts:
            self._branch = self._history.branch.name
        self._texts[event] = text

    def text_of(self, event: int) -> str:
        """The program that called in an event of this branch; empty: none, or it is not known."""
        text = self._texts.get(event, "")
        return text if text and self._history.is_event_of(self._branch, event) else ""


Arguments = dict[str, object]
_CALLED, _REFUSED, _DESTROYED = Kind.CALLED, Kind.REFUSED, Kind.DESTROYED
_NAMING = (Ref, New)
MAX_EVENTS = 1_000_000


class RunBounds(NamedTuple):
    """Bounds of every run of a session: after this event, and at this time (ns).

    sentences: about events, then about time.
    """

    event: int
    at_ns: int
    sentences: tuple[str, str]


@dataclass(slots=True)
class CommandOutcome:
    """The result of one command.

    event: its number, None if the command changed nothing. refusal: the errno returned. left: the
    branch of time that it has left, because the command was given in the past.
    """

    invocation: Invocation
    event: int | None = None
    value: Any = None
    refusal: Refused | None = None
    left: str = ""


@dataclass(slots=True)
class Session:
    """A world, its names, its journal.

    answer: evaluates expressions (the views). refuse_senseless: raises for expressions that cannot
    have a value. touches: whether the last event may have changed the value of an expression.
    open_copy: opens the same lab without any commands. refusal: why the rules of a lab do not allow
    a line, empty if they do. shut: commands that they never allow. caller_of: which program of the
    host called in an event, and where; empty: none. bounds: where every run ends; None: nowhere.
    unanswered: what programs of the host wait for without end, as questions; the world itself does
    not know that they wait. outside: verdicts on their connect requests and waits, which are no
    business of an adapter: `FAILED rping on B asked for 10.0.0.1:2222: rejected, …`.
    """

    world: World
    vocabulary: Mapping[str, Command]
    seed: int = 0
    answer: Callable[[Node], object] | None = None
    refuse_senseless: Callable[[Node], None] | None = None
    touches: Callable[[Node], bool] = field(default=lambda _: True)
    open_copy: Callable[[], "Session"] | None = None
    refusal: Callable[[str], str] = field(default=lambda _: "")
    shut: Collection[str] = ()
    caller_of: Callable[[int], str] = field(init=False)
    max_events: int = MAX_EVENTS
    bounds: RunBounds | None = None
    unanswered: list[Node] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)
    default_node: str = ""
    aliases: Mapping[str, str] = field(init=False)  # short spellings, for a prompt only
    names: Names = field(init=False)
    binder: Binder = field(init=False)
    history: History = field(init=False)
    callers: Callers = field(init=False)
    checkpoints: dict[str, tuple[str, TimePoint]] = field(default_factory=dict)
    breakpoints: Breakpoints = field(default_factory=Breakpoints)

    def __post_init__(self) -> None:
        self.aliases = aliases(self.vocabulary)
        self.names = Names(self.world.nodes)
        self.binder = Binder(self.world, self.names)
        self.world.programs.carry_out, self.world.programs.holds = self.carry_out, self.holds
        self.history = History(self.world, self.names, self._replay)
        self.callers = Callers(self.history)
        self.caller_of = self.callers.text_of

    @property
    def journal(self) -> Journal:
        """The journal of this branch, up to its end."""
        return self.history.branch.journal

    def perform(self, invocation: Invocation) -> CommandOutcome:
        """Run one command.

        Raises NotUnderstood if it is invalid here; then nothing was executed.
        """
        command = self.vocabulary.get(invocation.name)
        if command is None:
            raise NotUnderstood(f'no verb "{invocation.name}"', hint="help all lists them")
        try:
            if command.asking:
                self._check_questions(command, invocation)
            looks = command.may_look and command.only_looks(invocation.arguments)
            if looks or not command.changes_world:
                place = self.world if command.changes_world else self
                arguments = self.binder.bind(command, invocation)
                return CommandOutcome(invocation, value=command.function(place, **arguments))
            if is_query(command.name) and not self.history.live:
                return self._as_query(command, invocation)
            outcome = self._as_event(command, invocation)
        except NotUnderstood as error:
            if error.place == NOWHERE and error.argument:
                error.place = invocation.places.get(error.argument, NOWHERE)
            raise
        history, trace = self.history, self.world.trace
        outcome.left = history.keep(Entry(trace.event, trace.at_ns, invocation))
        if trace.event >= history.moments.due:
            history.moments.take()
        return outcome

    def _as_query(self, command: Command, invocation: Invocation) -> CommandOutcome:
        """Run a query in the past and undo its event: it changes nothing, so it opens no branch."""
        with read_only_visit(self.history):
            outcome = self._as_event(command, invocation)
        outcome.event = None
        return outcome

    def _check_questions(self, command: Command, invocation: Invocation) -> None:
        """Raises NotUnderstood if an expression cannot be a condition."""
        if self.refuse_senseless is not None:
            for question in questions_in(command, invocation):
                self.refuse_senseless(question)

    def _replay(self, entry: Entry) -> None:
        """Run a line of the journal again."""
        self._as_event(self.vocabulary[entry.invocation.name], entry.invocation)

    def _as_event(self, command: Command, invocation: Invocation) -> CommandOutcome:
        """Run one command that changes the world."""
        world, trace = self.world, self.world.trace
        if world.destroyed_by_fault:  # where somebody else has let time pass
            self.names.retire_destroyed(world)
        outcome = CommandOutcome(invocation, trace.event + 1)
        arguments: Arguments = {}
        try:
            arguments = self.binder.bind(command, invocation)
        except Refused as gone:  # an argument reads a field of something that was destroyed
            outcome.refusal = gone
        first = len(trace.tail)
        world.begin_event()
        if outcome.refusal is None:
            try:
                outcome.value = command.function(world, **arguments)
            except Refused as refusal:
                outcome.refusal = refusal
            except NotUnderstood:
                world.cancel_event()
                raise
        self._called(command, outcome, arguments, first)
        if world.programs.waiting:
            world.settle()
        return outcome

    def _called(
        self, command: Command, outcome: CommandOutcome, arguments: Arguments, first: int
    ) -> None:
        """Log the call, after the records from `first` in the tail; update the names."""
        refusal, trace = outcome.refusal, self.world.trace
        node, number = _spoken_to(command, outcome.invocation, arguments)
        if refusal is not None:
            trace.record(_REFUSED, node, number, refusal.rule, refusal.message)
        trace.record(_CALLED, node, number, command.name, refusal.errno if refusal else 0)
        if isinstance(outcome.value, Thing):
            self._name(arguments, outcome.value)
        for _, _, _, kind, node, number, noun, _ in trace.tail[first:]:
            if kind is _DESTROYED:
                self.names.retire(Thing(Noun(noun), node, number))

    # ------------------------------------------------------------------ for programs
    def carry_out(self, invocation: Invocation) -> Carried:
        """Run a line of a program, within the current event and without a journal entry.

        If C would block, the call has not returned and is not in the log.
        """
        command, outcome = self.vocabulary[invocation.name], CommandOutcome(invocation)
        self.names.retire_destroyed(self.world)
        first, arguments = len(self.world.trace.tail), Arguments()
        try:
            arguments = self.binder.bind(command, invocation)
            outcome.value = command.function(self.world, **arguments)
        except Refused as refusal:
            outcome.refusal = refusal
        subject = next((value for value in arguments.values() if isinstance(value, Thing)), None)
        carried = Carried(outcome.value, outcome.refusal, subject)
        if not carried.blocks:
            self._called(command, outcome, arguments, first)
        return carried

    def holds(self, question: Node) -> bool:
        """Evaluate a program's condition, on the current state without the log.

        A thread cannot read the log, and in a replay the log is incomplete.
        """
        self.world.trace.shut = True
        try:
            return bool(self.ask(question))
        finally:
            self.world.trace.shut = False

    # ------------------------------------------------------------------ names
    def _name(self, arguments: Arguments, made: Thing) -> None:
        for value in arguments.values():
            if isinstance(value, New):
                self.names.give(str(value), made)

    def restarted(self) -> "Session":
        """A new session of this lab without any commands, to replay the journal in."""
        if self.open_copy is None:
            raise NotUnderstood("this session cannot open a second lab")
        return self.open_copy()

    def dispose(self) -> None:
        """Release the parts of an ended session, which refer to each other.

        Without it, memory is only freed when the garbage collector runs.
        """
        self.history.dispose()
        self.world.dispose()
        self.answer = self.open_copy = None

    def ask(self, node: Node) -> object:
        """The value of a parsed expression."""
        if self.answer is None:
            raise NotUnderstood("this session cannot evaluate expressions")
        return self.answer(node)


def questions_in(command: Command, invocation: Invocation) -> Iterator[Node]:
    """The expressions in a command, also those in the lines of a program."""
    for parameter in command.asking:
        value = invocation.arguments.get(parameter.name)
        if isinstance(value, Expression):
            if not (isinstance(parameter.kind, ExpressionKind) and parameter.kind.is_topic):
                yield value.node
        elif isinstance(value, Lines):
            yield from (line.question for line in value.parsed if line.question is not None)


def _spoken_to(command: Command, invocation: Invocation, arguments: Arguments) -> tuple[str, int]:
    """The node of the first object that a command names, and its number if it exists."""
    for parameter in command.parameters:
        value = invocation.arguments.get(parameter.name)
        if isinstance(value, _NAMING):
            thing = arguments.get(parameter.name)
            return value.node, thing.number if isinstance(thing, Thing) else 0
    return "", 0
