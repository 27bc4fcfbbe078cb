"""Write a session as a scenario file: its journal, with the runs between the commands."""

import dataclasses
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto

from rdmalab.command import Noun, Thing, Unit
from rdmalab.grammar.format import render
from rdmalab.grammar.quantities import spelled
from rdmalab.grammar.text import in_quotes
from rdmalab.scenario.model import MAX_ASSERTIONS, MAX_STEPS
from rdmalab.scenario.source import MAX_OCTETS
from rdmalab.scenario.wire import SKIP, line_of, seen
from rdmalab.session.interruption import check
from rdmalab.session.journal import Entry
from rdmalab.session.run_control import SLICE
from rdmalab.session.session import Session
from rdmalab.spec.profiles import PROFILES, Profile
from rdmalab.spec.records import kind_of
from rdmalab.spec.rules import errno_name
from rdmalab.views import completions, ladder, queues, srq
from rdmalab.views.transit_effects import PACKETS
from rdmalab.world.relations import exists

Facts = dict[str, str]
"""Expression → value: `A.qp0.state` → `RTS`."""


def facts(session: Session) -> Facts:
    """The states, queue sizes and completions of all objects."""
    found: Facts = {}
    for noun, style in _LOOKS.items():
        for name in session.names.all(noun):
            thing = session.names.thing_of[name]
            if not exists(session.world, thing):
                continue
            found |= {f"{name}.{field}": text for field, text in style(session, thing)}
    return found


def _queue_pair(session: Session, thing: Thing) -> Iterator[tuple[str, str]]:
    row = queues.qp_row(session.world, session.names, thing)
    yield "state", row.state.name
    yield "sq.used", str(row.sq.used)
    yield "rq.used", str(row.rq.used)


def _shared_queue(session: Session, thing: Thing) -> Iterator[tuple[str, str]]:
    row = srq.srq_row(session.world, session.names, thing)
    yield "count", str(row.count)
    yield "used", str(row.used)


def _completions(session: Session, thing: Thing) -> Iterator[tuple[str, str]]:
    rows = completions.wc_rows(session.world, session.names, thing)
    yield "count", str(len(rows))
    for number, row in enumerate(rows):
        yield f"cqes[{number}].wr_id", str(row.wr_id)
        yield f"cqes[{number}].status", row.status.name
        for name in ("byte_len", "imm_data"):
            if name not in row.undefined:
                yield f"cqes[{number}].{name}", str(getattr(row, name))


_LOOKS: dict[Noun, Callable[[Session, Thing], Iterator[tuple[str, str]]]] = {
    Noun.QP: _queue_pair,
    Noun.SRQ: _shared_queue,
    Noun.CQ: _completions,
}


def expectations(before: Facts, now: Facts) -> list[str]:
    """Conditions for all values that changed, as many as one step may have."""
    new = [f"{what} == {text}" for what, text in now.items() if before.get(what) != text]
    return new[:MAX_ASSERTIONS]


def wire_lines(session: Session, first_record: int) -> list[str]:
    """The wire lines of all packets sent since, with all fields."""
    world, records = session.world, session.world.trace.records
    sent = [n for n in range(first_record, len(records)) if kind_of(records[n]) in PACKETS]
    packets = seen(ladder.packet_rows(world, session.names, sent), records)
    lines = [line_of(packet) for packet in packets]
    return lines if len(lines) <= MAX_ASSERTIONS else [*lines[: MAX_ASSERTIONS - 1], SKIP]


LONGEST = 10_000  # events of one step: a runner gives up a journey that goes on for ever

# What YAML reads as nothing but text, at any place of a line.
_PLAIN = re.compile(r"[A-Za-z][^#]*[^:#\s]|[A-Za-z]")
_MISREAD = re.compile(r": | #")
_HAPPENED = "packets and device events"
_NOTE = "The commands of {}, in order. Write a note before each run."


class Unsavable(Exception):  # noqa: N818  (it says what the session is)
    """Raised if no scenario can represent the session: too long, or unknown devices."""


class Expect(Enum):
    """The expectations to write. ALL: after each run, all changes."""

    NONE = auto()
    ALL = auto()


def saved(session: Session, title: str, expect: Expect = Expect.NONE) -> str:
    """The text of a scenario that repeats this session, event by event.

    Its head has the devices before the first command: `link mtu=256` is a step. Raises Stopped
    on ^C; it takes as long as the session itself.
    """
    retelling = _Retelling(session, expect)
    try:
        begun = {name: hca.profile for name, hca in retelling.again.world.nodes.items()}
        nodes = [f"  {name}: {_device(profile)}" for name, profile in begun.items()]
        steps = retelling.steps()
    finally:
        retelling.again.dispose()
    if len(steps) > MAX_STEPS:
        raise Unsavable(f"{len(steps):,} steps; a scenario has at most {MAX_STEPS:,}")
    head = ["rdmalab: 1", f"title: {text_of(title)}", f"seed: {session.seed}", "nodes:", *nodes]
    walk = f"  - note: {text_of(_NOTE.format(title))}"
    text = "\n".join([*head, "", "steps:", walk, *(step.text for step in steps), ""])
    if (octets := len(text.encode())) > MAX_OCTETS:
        raise Unsavable(f"{octets:,} bytes; a scenario has at most {MAX_OCTETS:,}")
    return text


def _device(profile: Profile) -> str:
    """`{profile: strict, max_qp_wr: 16}`: the name, and the limits that differ from it."""
    named = PROFILES.get(profile.name)
    if named is None or dataclasses.replace(named, caps=profile.caps) != profile:
        raise Unsavable(f"a scenario cannot name its device {profile.name}")
    own = [
        f", {cap.name}: {int(value)}"
        for cap in dataclasses.fields(profile.caps)
        if (value := getattr(profile.caps, cap.name)) != getattr(named.caps, cap.name)
    ]
    return f"{{profile: {profile.name}{''.join(own)}}}"


@dataclass(slots=True)
class _Step:
    """One step: its action and name, and what must be true after it."""

    action: str
    words: str
    name: str = ""
    errno: str = ""
    expect: list[str] = field(default_factory=list)
    wire: list[str] | None = None

    @property
    def text(self) -> str:
        """Its lines in YAML; a `do` without other keys is a plain text."""
        more = [f"name: {self.name}"] if self.name else []
        more += [f"errno: {self.errno}"] if self.errno else []
        more += _listed("expect", self.expect) if self.expect else []
        more += _listed("wire", self.wire) if self.wire is not None else []
        if self.action == "do" and not more:
            return f"  - {text_of(self.words)}"
        return "\n    ".join([f"  - {self.action}: {text_of(self.words)}", *more])


def _listed(key: str, lines: list[str]) -> list[str]:
    return [f"{key}:", *(f"  - {text_of(line)}" for line in lines)] if lines else [f"{key}: []"]


class _Retelling:
    """A replay of the journal, to find the runs between commands and their effects."""

    def __init__(self, session: Session, expect: Expect) -> None:
        self.session = session
        self.again = session.restarted()
        self.observes = expect is Expect.ALL
        self.facts: Facts = {}

    def steps(self) -> list[_Step]:
        """Each command, after the run before it, with the expectations."""
        found = [step for entry in self.session.journal for step in self._steps(entry)]
        found += self._between(*self.session.history.end)  # of the branch, though we stand before
        if self.observes and found:
            found[-1].expect += self._news()
        return found

    def _steps(self, entry: Entry) -> Iterator[_Step]:
        check()
        yield from self._between(entry.event - 1, entry.at_ns)
        outcome = self.again.perform(entry.invocation)
        step = _Step("do", render(entry.invocation, self.session.vocabulary[entry.invocation.name]))
        if outcome.refusal is not None:
            step.errno = errno_name(outcome.refusal.errno)
        yield step

    def _between(self, event: int, at_ns: int) -> Iterator[_Step]:
        """This many events, then a time without events."""
        world = self.again.world
        while events := min(LONGEST, event - world.event):
            first = len(world.trace.records)
            self._run(events)
            ends = world.event == event and world.agenda.next_ns() is None
            text = "until idle" if ends else f"step {events}"
            yield self._observed(_Step("run", text, name=_HAPPENED), first)
        if wait_ns := at_ns - world.now_ns:
            world.advance(at_ns)
            yield _Step("run", spelled(wait_ns, Unit.NS))

    def _run(self, events: int) -> None:
        last = self.again.world.event + events
        while left := last - self.again.world.event:
            check()
            self.again.history.run(min(left, SLICE))

    def _observed(self, step: _Step, first_record: int) -> _Step:
        if self.observes:
            step.expect = self._news()
            step.wire = wire_lines(self.again, first_record)
        return step

    def _news(self) -> list[str]:
        before, self.facts = self.facts, facts(self.again)
        return expectations(before, self.facts)


def text_of(line: str) -> str:
    """A YAML scalar of this line; `${` in it names no parameter."""
    line = line.replace("${", "$${")
    if not line.isprintable():
        return in_quotes(line)  # its escapes are YAML's too
    if _PLAIN.fullmatch(line) and not _MISREAD.search(line):
        return line
    return "'" + line.replace("'", "''") + "'"
