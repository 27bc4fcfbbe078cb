"""The verbs of a session as a program makes them: each with its values and its result.

The journal runs again in a new world, because a name means something only at its moment. After the
last call a program looks once more: completions that are left, states of queue pairs, memory; then
it destroys what it has made.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

from rdmalab.command import Invocation, Noun, Ref, Refused, Thing
from rdmalab.hca.device import Hca
from rdmalab.session.interruption import check
from rdmalab.session.journal import Entry
from rdmalab.session.run_control import SLICE
from rdmalab.session.session import CommandOutcome, Session
from rdmalab.spec.profiles import PROFILES
from rdmalab.spec.row import dataclass
from rdmalab.world.programs import Carried
from rdmalab.world.relations import DESTROYERS
from rdmalab.world.world import World

Bound = Any
"""A value of a command, as the binder makes it: its class is that of the command's signature."""
_CRASH = "crash-"  # rules that stand for a segmentation fault
_OF_PROGRAMS = frozenset({"program", "stop"})
"""Commands that begin and end threads, whose calls are written when they come."""
_MOST_OF_PROGRAMS = 1_000
_MANY = 30  # calls of a part that no note begins
_AT_ONCE = 16  # completions of one poll at the end


class NotExportable(Exception):  # noqa: N818  (it says why)
    """Raised with the reason for which no program can do what a session did.

    entry: the number of the journal's entry, None: the session as a whole.
    """

    def __init__(self, reason: str, entry: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.entry = entry


class Chapter(NamedTuple):
    """Entries of the journal up to `stop`, excluded, and the note before them.

    runs: of an entry, the step that let time pass before it, as text.
    """

    title: str
    stop: int
    runs: dict[int, str]


def parts(session: Session) -> list[Chapter]:
    """The journal in parts of thirty calls."""
    count = len(session.journal)
    return [Chapter("", stop, {}) for stop in [*range(_MANY, count, _MANY), count]]


def judge_world(session: Session) -> None:
    """NotExportable for a world that no program finds on a lab."""
    nodes = session.world.nodes
    if len(nodes) != 2:
        raise NotExportable(f"there are {len(nodes)} nodes, and the program has two devices")
    profile, other = (hca.profile for hca in nodes.values())
    if profile != other:
        raise NotExportable(
            "the two nodes are different devices, which rdmalab exec does not start"
        )
    if PROFILES.get(profile.name) != profile:
        raise NotExportable("a node has limits of its own, which no program can set")


@dataclass(slots=True)
class Call:
    """One command, in the world before it. outcome: what came of it; None: not carried out yet.

    arguments: by parameter, with objects and numbers for the names. entry: its place in the
    journal; None: it is not in the session, and looks or tidies up at its end (is_late). undefined:
    why C leaves open what it does, empty: C does not.
    """

    session: Session
    word: str
    arguments: dict[str, Bound]
    entry: int | None
    outcome: CommandOutcome | None = None
    undefined: str = ""

    @property
    def world(self) -> World:
        return self.session.world

    @property
    def is_late(self) -> bool:
        return self.entry is None

    @property
    def errno(self) -> int:
        """The errno with which it was refused; 0: it was not."""
        refusal = self.outcome.refusal if self.outcome else None
        return refusal.errno if refusal else 0

    @property
    def bad_wr(self) -> int:
        """The place in its list of the work request that was refused."""
        refusal = self.outcome.refusal if self.outcome else None
        return (refusal.bad_wr or 0) if refusal else 0

    @property
    def value(self) -> Bound:
        return self.outcome.value if self.outcome else None

    def note(self, outcome: CommandOutcome) -> None:
        """Keep what came of it, and whether C leaves that open."""
        self.outcome = outcome
        refusal = outcome.refusal
        if refusal is not None and refusal.rule.startswith(_CRASH):
            self.undefined = refusal.message


def bound(session: Session, invocation: Invocation, entry: int | None) -> Call:
    """A call with its values; one that names something destroyed is undefined in C."""
    call = Call(session, invocation.name, {}, entry)
    try:
        command = session.vocabulary[invocation.name]
        call.arguments = session.binder.bind(command, invocation)
    except Refused as gone:
        call.undefined = f"{gone.message}: undefined in C"
    return call


@contextmanager
def judged(call: Call) -> Iterator[None]:
    """A context that writes a call: NotExportable has its entry, also for what is undefined."""
    try:
        if call.undefined:
            raise NotExportable(call.undefined)
        yield
    except NotExportable as wrong:
        wrong.entry = call.entry
        raise


@dataclass(slots=True)
class Bytes:
    """The bytes of a region at the end, without the trailing zeros."""

    thing: Thing
    addr: int
    length: int
    octets: bytes


class Scribe(Protocol):
    """Writer of the calls of a replay, each in the world of its moment."""

    def wait(self, passed_ns: int, events: int, entry: int | None) -> list[str]:
        """Lines that let so much time pass; entry: the line of the session that follows."""

    def begin(self, call: Call) -> None:
        """Look at a call before it is carried out."""

    def end(self, call: Call) -> list[str]:
        """Its lines, with its outcome."""


class Replay:
    """The calls of a session, one after the other. again: the world in which they run.

    Lines of the lab's programs are calls like others: what threads did is done in its order.
    """

    def __init__(self, session: Session, scribe: Scribe) -> None:
        self.session = session
        self.scribe = scribe
        self.again = session.restarted()
        self.done = 0  # entries of the journal
        self.lines: list[str] = []
        self.by_programs = 0
        self._since = (0, self.again.world.event)  # time and event up to which lines are written
        self._carry_out = self.again.world.programs.carry_out
        self.again.world.programs.carry_out = self._carried_out_by_program

    def until(self, stop: int) -> list[str]:
        """The lines of the entries before this one, and of the time up to it."""
        journal = self.session.journal
        while self.done < stop:
            self._entry(journal[self.done])
            self.done += 1
        if stop < len(journal):
            self._pass(journal[stop].event - 1, journal[stop].at_ns)
        return self._taken()

    def rest(self) -> list[str]:
        """The lines of the time after the last entry."""
        self._pass(*self.session.history.end)
        return self._taken()

    def looks(self) -> list[str]:
        """At the end: the state of each queue pair, and all completions that are left.

        Where nothing is planned, also a poll that finds no more: elsewhere one might come.
        """
        for thing in self._living(Noun.QP):
            self._own("query_qp", qp=thing)
        queues = self._living(Noun.CQ)
        for thing in queues:
            while count := len(self._at(thing)[1].cqes):
                if self._own("poll_cq", cq=thing, num_entries=min(count, _AT_ONCE)).errno:
                    break
        if self.again.world.agenda.next_ns() is None:
            for thing in queues:
                self._own("poll_cq", cq=thing, num_entries=1)
        return self._taken()

    def memory(self) -> Iterator[Bytes]:
        """The memory of each region that exists."""
        for thing in self._living(Noun.MR):
            hca, mr = self._at(thing)
            if hca.memory.is_mapped(mr.addr, mr.length):
                octets = _written(hca, mr.addr, mr.length)
                yield Bytes(thing, mr.addr, mr.length, octets.rstrip(b"\0"))

    def tidying(self) -> list[str]:
        """The calls that destroy what is left; those that are refused are left out."""
        for noun, word in DESTROYERS.items():
            for thing in reversed(self._living(noun)):
                call = Call(self.again, word, {str(noun): thing}, None)
                call.outcome = self.again.perform(self._invocation(call))
                if not call.errno:
                    self.scribe.begin(call)
                    self.lines += self.scribe.end(call)
        return self._taken()

    def end(self) -> None:
        """Release the world."""
        self.again.dispose()

    def _living(self, noun: Noun) -> list[Thing]:
        return self.again.names.living(self.again.world, noun)

    def _at(self, thing: Thing) -> tuple[Hca, Bound]:
        found: tuple[Hca, Bound] = self.again.world.at(thing, object)
        return found

    def _taken(self) -> list[str]:
        lines, self.lines = self.lines, []
        return lines

    def _own(self, word: str, **arguments: object) -> Call:
        call = Call(self.again, word, arguments, None)
        self._perform(call, self._invocation(call))
        return call

    def _invocation(self, call: Call) -> Invocation:
        named = {
            name: _ref(self.again.names.of(value)) if isinstance(value, Thing) else value
            for name, value in call.arguments.items()
        }
        return Invocation(call.word, named)

    def _entry(self, entry: Entry) -> None:
        check()
        self._pass(entry.event - 1, entry.at_ns)
        if entry.invocation.name in _OF_PROGRAMS:
            self.again.perform(entry.invocation)
            return
        self._perform(bound(self.again, entry.invocation, self.done), entry.invocation)

    def _perform(self, call: Call, invocation: Invocation) -> None:
        self.scribe.begin(call)
        before, self.lines = self.lines, []
        outcome = self.again.perform(invocation)
        inner, self.lines = self.lines, before
        self._finish(call, outcome)
        self.lines += inner  # of programs that this call has woken

    def _finish(self, call: Call, outcome: CommandOutcome) -> None:
        call.note(outcome)
        self.lines += self.scribe.end(call)
        self._since = (self.again.world.now_ns, self.again.world.event)

    def _carried_out_by_program(self, invocation: Invocation) -> Carried:
        """A line of a program; one that blocks is no call yet."""
        assert self._carry_out is not None
        call = bound(self.again, invocation, self.done)
        self.scribe.begin(call)
        waited = self._waited(None)
        carried = self._carry_out(invocation)
        if carried.blocks:
            return carried
        self.by_programs += 1
        if self.by_programs > _MOST_OF_PROGRAMS:
            raise NotExportable(f"programs make more than {_MOST_OF_PROGRAMS:,} calls", self.done)
        self.lines += waited
        outcome = CommandOutcome(invocation, value=carried.value, refusal=carried.refusal)
        self._finish(call, outcome)
        return carried

    def _waited(self, entry: int | None) -> list[str]:
        """Lines for the time since the last line."""
        at_ns, event = self.again.world.now_ns, self.again.world.event
        passed_ns, events = at_ns - self._since[0], event - self._since[1]
        return self.scribe.wait(passed_ns, events, entry) if passed_ns or events else []

    def _pass(self, event: int, at_ns: int) -> None:
        """Events up to this one, then a time without events."""
        world = self.again.world
        while left := event - world.event:
            check(world.event, self.session.history.end.event)
            self.again.history.run(min(left, SLICE))
        if at_ns > world.now_ns:
            world.advance(at_ns)
        self.lines += self._waited(self.done)
        self._since = (world.now_ns, world.event)


def _ref(name: str) -> Ref:
    node, _, rest = name.partition(".")
    return Ref(node, rest)


def _written(hca: Hca, addr: int, length: int) -> bytes:
    """The bytes up to the last page that was written: a region may have 2^31."""
    pages = [
        page << 12 for page in hca.memory.pages if addr < (page + 1) << 12 <= addr + length + 4095
    ]
    last = max(pages, default=addr - 1) + 4096
    return bytes(hca.memory.read(addr, min(length, max(last - addr, 0))))
