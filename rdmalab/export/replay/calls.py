"""The verbs of a session as a program makes them: each with its values and its result.

The journal runs again in a new world, because a name means something only at its moment. After the
last call a program looks once more: completions that are left, states of queue pairs, memory; then
it destroys what it has made.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rdmalab.command import Invocation, Noun, Ref, Refused, Thing
from rdmalab.hca.device import Hca
from rdmalab.session.interruption import check
from rdmalab.session.journal import Entry
from rdmalab.session.run_control import SLICE
from rdmalab.session.session import CommandOutcome, Session
from rdmalab.spec.profiles import PROFILES
from rdmalab.world.world import World

Bound = Any
"""A value of a command, as the binder makes it: its class is that of the command's signature."""
_DESTROYERS = {
    Noun.QP: ("destroy_qp", "qp"), Noun.FLOW: ("destroy_flow", "flow"),
    Noun.AH: ("destroy_ah", "ah"), Noun.MW: ("dealloc_mw", "mw"),
    Noun.SRQ: ("destroy_srq", "srq"), Noun.MR: ("dereg_mr", "mr"), Noun.CQ: ("destroy_cq", "cq"),
    Noun.CHANNEL: ("destroy_comp_channel", "channel"), Noun.XRCD: ("close_xrcd", "xrcd"),
    Noun.PD: ("dealloc_pd", "pd"), Noun.TD: ("dealloc_td", "td"),
}  # fmt: skip
_CRASH = "crash-"  # rules that stand for a segmentation fault
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

    arguments: by parameter, with objects and numbers for the names. passed_ns, events: since the
    call before. is_late: it is not in the session, and looks or tidies up at its end. undefined:
    why C leaves open what it does, empty: C does not.
    """

    session: Session
    word: str
    arguments: dict[str, Bound]
    entry: int | None
    passed_ns: int = 0
    events: int = 0
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


@dataclass(slots=True)
class Replay:
    """The calls of a session, one after the other. again: the world in which they run."""

    session: Session
    again: Session = field(init=False)

    def __post_init__(self) -> None:
        self.again = self.session.restarted()

    def calls(self) -> Iterator[Call]:
        """Each call twice: before it is carried out, and when it has an outcome."""
        for number, entry in enumerate(self.session.journal):
            check()
            yield from self._carried_out(self._prepared(number, entry))

    def rest(self) -> tuple[int, int]:
        """Let the time after the last call pass; returns ns and events."""
        event, at_ns = self.session.history.end
        return self._pass(event, at_ns)

    def looks(self) -> Iterator[Call]:
        """At the end: the state of each queue pair, and all completions that are left.

        Where nothing is planned, also a poll that finds no more: elsewhere one might come.
        """
        for thing in self._living(Noun.QP):
            yield from self._carried_out(self._own("query_qp", qp=thing))
        queues = self._living(Noun.CQ)
        for thing in queues:
            while count := len(self._at(thing)[1].cqes):
                most = min(count, _AT_ONCE)
                call = self._own("poll_cq", cq=thing, num_entries=most)
                yield from self._carried_out(call)
                if call.errno:
                    break
        if self.again.world.agenda.next_ns() is None:
            for thing in queues:
                yield from self._carried_out(self._own("poll_cq", cq=thing, num_entries=1))

    def memory(self) -> Iterator[Bytes]:
        """The memory of each region that exists."""
        for thing in self._living(Noun.MR):
            hca, mr = self._at(thing)
            if hca.memory.is_mapped(mr.addr, mr.length):
                octets = _written(hca, mr.addr, mr.length)
                yield Bytes(thing, mr.addr, mr.length, octets.rstrip(b"\0"))

    def tidying(self) -> Iterator[Call]:
        """The calls that destroy what is left; those that are refused are left out."""
        for noun, (word, parameter) in _DESTROYERS.items():
            for thing in reversed(self._living(noun)):
                call = self._own(word, **{parameter: thing})
                call.outcome = self.again.perform(self._invocation(call))
                if not call.errno:
                    call.outcome, done = None, call.outcome
                    yield call
                    call.outcome = done
                    yield call

    def end(self) -> None:
        """Release the world."""
        self.again.dispose()

    def _living(self, noun: Noun) -> list[Thing]:
        return self.again.names.living(self.again.world, noun)

    def _at(self, thing: Thing) -> tuple[Hca, Bound]:
        found: tuple[Hca, Bound] = self.again.world.at(thing, object)
        return found

    def _own(self, word: str, **arguments: object) -> Call:
        return Call(self.again, word, arguments, None)

    def _invocation(self, call: Call) -> Invocation:
        named = {
            name: _ref(self.again.names.of(value)) if isinstance(value, Thing) else value
            for name, value in call.arguments.items()
        }
        return Invocation(call.word, named)

    def _prepared(self, number: int, entry: Entry) -> Call:
        passed = self._pass(entry.event - 1, entry.at_ns)
        invocation = entry.invocation
        command = self.again.vocabulary[invocation.name]
        call = Call(self.again, invocation.name, {}, number, *passed)
        try:
            call.arguments = self.again.binder.bind(command, invocation)
        except Refused as gone:
            call.undefined = f"{gone.message}: undefined in C"
        return call

    def _carried_out(self, call: Call) -> Iterator[Call]:
        yield call
        invocation = (
            self._invocation(call)
            if call.entry is None
            else self.session.journal[call.entry].invocation
        )
        call.outcome = self.again.perform(invocation)
        refusal = call.outcome.refusal
        if refusal is not None and refusal.rule.startswith(_CRASH):
            call.undefined = refusal.message
        yield call

    def _pass(self, event: int, at_ns: int) -> tuple[int, int]:
        """Events up to this one, then a time without events; returns ns and events."""
        world = self.again.world
        began_ns, events = world.now_ns, event - world.event
        while left := event - world.event:
            check()
            self.again.history.run(min(left, SLICE))
        if at_ns > world.now_ns:
            world.advance(at_ns)
        return at_ns - began_ns, events


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
