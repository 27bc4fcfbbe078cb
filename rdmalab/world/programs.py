"""Programs: threads of a host that execute one line after another, each line an event.

All state is plain data: a counter, the remaining repetitions of open loops, what the program waits
for. A blocked line schedules nothing; after each event the waiting programs are checked.
"""

from collections.abc import Callable
from dataclasses import field
from heapq import heapify
from typing import NamedTuple, Protocol

from rdmalab.command import Invocation, NotUnderstood, Noun, Refused, Thing
from rdmalab.grammar.nodes import Node
from rdmalab.grammar.program import Line
from rdmalab.hca import async_events
from rdmalab.hca.device import Hca
from rdmalab.hca.errors import errno_text
from rdmalab.spec.programs import BLOCKING, FREE, WORK_VERBS, ProgramState
from rdmalab.spec.records import Kind
from rdmalab.spec.row import dataclass
from rdmalab.spec.rules import errno_name
from rdmalab.world.event_queue import Door, EventQueue
from rdmalab.world.trace import Trace


class Carried(NamedTuple):
    """The result of one verb. subject: the object that it was called for."""

    value: object = None
    refusal: Refused | None = None
    subject: Thing | None = None

    @property
    def blocks(self) -> bool:
        """True if C would have blocked."""
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
    def awaits_async_event(self) -> bool:
        """Whether it is blocked in get_async_event."""
        rule = self.wants[0] if self.wants is not None else ""
        return self.state is ProgramState.WAITING and rule == "async-none"

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


# --------------------------------------------------------------------------- a program as data
class Host(Protocol):
    """The world, as programs need it: a protocol, because the world runs the programs."""

    nodes: dict[str, Hca]
    trace: Trace
    agenda: EventQueue
    programs: Programs

    @property
    def now_ns(self) -> int:
        """The virtual time in ns."""


# --------------------------------------------------------------------------- begin and end
def start(world: Host, node: str, lines: list[Line], pace_ns: int) -> Program:
    """A new thread; its first line is due now."""
    table = world.nodes[node].tables[Noun.PROGRAM]
    program = Program(node, table.next_number, lines, pace_ns)
    table.add(program)
    world.trace.record(Kind.CREATED, node, program.number, Noun.PROGRAM.value)
    program.skip_free()
    program.since_ns = world.now_ns
    _file(world, program, 0)
    return program


def end(world: Host, program: Program) -> None:
    """The thread is no more, whatever it was doing."""
    if program in world.programs.waiting:
        world.programs.waiting.remove(program)
    heap = world.agenda.heap
    # In place: `World.run` holds a reference to this list.
    heap[:] = [entry for entry in heap if entry[4] is not program]
    heapify(heap)
    world.nodes[program.node].tables[Noun.PROGRAM].remove(program)
    world.trace.record(Kind.DESTROYED, program.node, program.number, Noun.PROGRAM.value)


def programs_of(world: Host) -> list[Program]:
    """All there are, node by node."""
    return [p for hca in world.nodes.values() for p in hca.tables[Noun.PROGRAM].items.values()]


def running(world: Host) -> list[Program]:
    """Programs that have a scheduled line."""
    return [
        p for p in programs_of(world) if p.state in (ProgramState.RUNNING, ProgramState.SLEEPING)
    ]


# --------------------------------------------------------------------------- one line
def turn(world: Host, program: Program) -> bool:
    """Carry out the line that comes; the event has begun. False if other nodes may have changed."""
    # An adapter sets its clock when a packet or timer comes; a verb is called without.
    for hca in world.nodes.values():
        hca.now_ns = world.now_ns
    line = program.line
    _become(world, program, ProgramState.RUNNING)
    _record(world, program, Kind.PROGRAM_RAN, line.number, line.text)
    try:
        _LINES[line.word](world, program, line)
    except NotUnderstood as wrong:
        _fail(world, program, wrong.message)
    return line.invocation is None or line.invocation.name in WORK_VERBS


def _verb(world: Host, program: Program, line: Line) -> None:
    carried = _carry_out(world, line)
    if carried.blocks:
        _block(world, program, carried)
    elif carried.refusal is not None:
        _fail(world, program, errno_text(carried.refusal))
    else:
        _go_on(world, program)


def _try(world: Host, program: Program, line: Line) -> None:
    carried = _carry_out(world, line)
    answer = carried.refusal.errno if carried.refusal else 0
    if line.amount and answer != line.amount:
        text = errno_text(carried.refusal) if carried.refusal else "it succeeded"
        _fail(world, program, f"{errno_name(line.amount)} was expected; {text}")
    else:
        _go_on(world, program)


def _poll(world: Host, program: Program, line: Line) -> None:
    carried = _carry_out(world, line)
    if carried.refusal is not None:
        _fail(world, program, errno_text(carried.refusal))
        return
    enough = carried.value if line.question is None else _holds(world, line.question)
    if enough:
        _go_on(world, program)
    else:
        # A poll that finds nothing takes time too, or a loop of polls would stop the clock.
        _file(world, program, program.pace_ns)


def _if(world: Host, program: Program, line: Line) -> None:
    if not _holds(world, line.question):
        program.at = line.jump - 1
    _go_on(world, program)


def _wait(world: Host, program: Program, line: Line) -> None:
    if _holds(world, line.question):
        _go_on(world, program)
    else:
        _block(world, program, None)


def _sleep(world: Host, program: Program, line: Line) -> None:
    _go_on(world, program, line.amount, ProgramState.SLEEPING)


def _stop(world: Host, program: Program, _line: Line) -> None:
    program.at = len(program.lines)
    _done(world, program)


_LINES: dict[str, Callable[[Host, Program, Line], None]] = {
    "": _verb, "try": _try, "poll": _poll, "if": _if, "wait": _wait, "sleep": _sleep, "stop": _stop,
}  # fmt: skip


def _carry_out(world: Host, line: Line) -> Carried:
    assert world.programs.carry_out is not None
    assert line.invocation is not None
    return world.programs.carry_out(line.invocation)


def _holds(world: Host, question: Node | None) -> bool:
    assert world.programs.holds is not None
    assert question is not None
    return world.programs.holds(question)


# --------------------------------------------------------------------------- what becomes of it
def _record(world: Host, program: Program, kind: Kind, *details: object) -> None:
    world.trace.record(kind, program.node, program.number, *details)


def _become(world: Host, program: Program, state: ProgramState) -> None:
    if program.state is not state:
        program.state, program.since_ns = state, world.now_ns


def _file(world: Host, program: Program, after_ns: int) -> None:
    at_ns, cause = world.now_ns + after_ns, world.trace.latest
    world.agenda.file(at_ns, Door.PROGRAM, program.node, program, cause)


def _go_on(
    world: Host, program: Program, after_ns: int = 0, state: ProgramState = ProgramState.RUNNING
) -> None:
    """To the next line, after its pace or a while."""
    program.at += 1
    program.skip_free()
    if program.at == len(program.lines):
        _done(world, program)
        return
    _become(world, program, state)
    _file(world, program, after_ns or program.pace_ns)


def _done(world: Host, program: Program) -> None:
    _become(world, program, ProgramState.DONE)
    _record(world, program, Kind.PROGRAM_DONE)


def _fail(world: Host, program: Program, why: str) -> None:
    program.why = why
    _become(world, program, ProgramState.FAILED)
    _record(world, program, Kind.PROGRAM_FAILED, program.line.number, why)


def _block(world: Host, program: Program, carried: Carried | None) -> None:
    program.wants = None
    if carried is not None and carried.refusal is not None and carried.subject is not None:
        program.wants = carried.refusal.rule, carried.subject
    _become(world, program, ProgramState.WAITING)
    # At the end: after each event the program that has waited longest is asked first.
    world.programs.waiting.append(program)
    _record(world, program, Kind.PROGRAM_WAITED, program.line.number)


# --------------------------------------------------------------------------- being woken
def settle(world: Host) -> None:
    """After an event: resume programs whose condition has become true.

    The condition was false after the event before; it is asked again only if this event may have
    changed it.
    """
    touches = world.programs.touches
    for program in list(world.programs.waiting):
        if touches is not None and program.wants is None:
            question = program.lines[program.at].question
            if question is not None and not touches(question):
                continue
        try:
            if not _can_go_on(world, program):
                continue
        except NotUnderstood as wrong:  # what it asks about was destroyed
            world.programs.waiting.remove(program)
            _fail(world, program, wrong.message)
            continue
        world.programs.waiting.remove(program)
        _wake(world, program)


def _can_go_on(world: Host, program: Program) -> bool:
    if program.wants is None:
        return _holds(world, program.line.question)
    rule, subject = program.wants
    hca = world.nodes[subject.node]
    is_gone = subject.noun is not Noun.NODE and (
        subject.number not in hca.tables[subject.noun].items
    )
    return is_gone or _BLOCKED_NO_MORE[rule](hca, subject)  # of what is gone the verb will tell


def _wake(world: Host, program: Program) -> None:
    """Call a blocked verb again; pass a condition that has become true."""
    _record(world, program, Kind.PROGRAM_WOKEN, program.line.number)
    # A verb that blocked is called again: another thread may have taken what it waited for.
    program.at -= program.wants is not None
    _go_on(world, program)


_BLOCKED_NO_MORE: dict[str, Callable[[Hca, Thing], bool]] = {
    "cq-event-none": lambda hca, it: bool(hca.channels.find(it.number).events),
    "cq-events-unacked": lambda hca, it: not hca.cqs.find(it.number).unacked,
    "async-none": lambda hca, _it: bool(hca.async_events),
    "async-unacked": lambda hca, it: (
        not any(async_events.names(raised, it.noun, it.number) for raised in hca.async_unacked)
    ),
}
"""Whether what a blocking verb waits for has come, by the rule that made it block."""
