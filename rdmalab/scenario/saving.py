"""Write a session as a scenario file: its journal, with the runs between the commands."""

import re
from collections.abc import Callable, Iterator
from dataclasses import field, fields, replace
from enum import Enum, auto
from typing import NamedTuple

from rdmalab.command import Invocation, Noun, Thing, Unit
from rdmalab.grammar.format import render
from rdmalab.grammar.quantities import spelled
from rdmalab.grammar.text import in_quotes
from rdmalab.grammar.trees import render as render_question
from rdmalab.scenario import session_file
from rdmalab.scenario.model import MAX_ASSERTIONS, MAX_STEPS
from rdmalab.scenario.session_file import Damaged
from rdmalab.scenario.session_steps import FILLING
from rdmalab.scenario.source import MAX_OCTETS
from rdmalab.scenario.wire import SKIP, line_of, seen
from rdmalab.session.interruption import check
from rdmalab.session.journal import Entry
from rdmalab.session.run_control import SLICE
from rdmalab.session.session import Session
from rdmalab.spec.profiles import PROFILES, Profile
from rdmalab.spec.records import kind_of
from rdmalab.spec.row import dataclass
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
_EMPTY = '""'
_SHORT = 32  # characters of a text that stands in its line
_HAPPENED = "packets and device events"
_NOTE = "The commands of {}, in order. Write a note before each run."


class Unsavable(Exception):  # noqa: N818  (it says what the session is)
    """Raised if no file can represent the session: too long, or unknown devices."""


class TooLong(Unsavable):
    """Raised for a session that is too long for a scenario; a session file may hold it."""


class Cut(NamedTuple):
    """A part of a session, from event to event; None: from its beginning, or to its end.

    What is before `first` is done in the setup of the scenario; what is after `last` is left out.
    """

    first: int | None = None
    last: int | None = None


WHOLE = Cut()


class Expect(Enum):
    """The expectations to write. ALL: after each run, all changes."""

    NONE = auto()
    ALL = auto()


@dataclass(slots=True)
class SavedSession:
    """A session as a scenario: its head and its steps, to be written in either form.

    outside, awaited: verdicts on programs of the host, and what they wait for, at its end. begun:
    the steps of `setup`. devices: of each node its profile, and the limits that differ.
    """

    title: str
    seed: int
    devices: dict[str, dict[str, str]]
    begun: list["SavedStep"]
    steps: list["SavedStep"]
    outside: list[str] = field(default_factory=list)
    awaited: list[str] = field(default_factory=list)

    def as_yaml(self, more: int = 0) -> str:
        """The text of a scenario file; raises Unsavable if it is too long.

        more: bytes that will follow it in the file.
        """
        if (count := len(self.begun) + len(self.steps)) > MAX_STEPS:
            raise TooLong(f"{count:,} steps; a scenario has at most {MAX_STEPS:,}")
        title, note = text_of(self.title), text_of(_NOTE.format(self.title))
        head = ["rdmalab: 1", f"title: {title}", f"seed: {self.seed}", "nodes:"]
        head += [f"  {name}: {_mapping(keys)}" for name, keys in self.devices.items()]
        setup = ["setup:", *(step.text for step in self.begun), ""] if self.begun else []
        walk = ["steps:", f"  - note: {note}", *(step.text for step in self.steps), ""]
        for key, texts in self._hosts.items():
            walk += [f"{key}:", *(f"  - {text_of(text)}" for text in texts), ""]
        text = "\n".join([*head, "", *setup, *walk])
        if (octets := len(text.encode()) + more) > MAX_OCTETS:
            raise TooLong(f"{octets:,} bytes; a scenario has at most {MAX_OCTETS:,}")
        return text

    @property
    def _hosts(self) -> dict[str, list[str]]:
        """Verdicts on programs of the host and the subjects of their waits: key → texts, if any."""
        found = {"outside": self.outside, "awaited": self.awaited}
        return {key: texts for key, texts in found.items() if texts}

    def packed(self) -> bytes:
        """The bytes of a session file; raises Unsavable if it is too long."""
        head: session_file.Row = {
            "title": self.title, "seed": str(self.seed), "nodes": self.devices, **self._hosts,
        }  # fmt: skip
        try:
            return session_file.packed(head, (step.row for step in [*self.begun, *self.steps]))
        except Damaged as why:
            raise Unsavable(str(why)) from None


def saved_session(
    session: Session, title: str, expect: Expect = Expect.NONE, *, timed: bool = False,
    cut: Cut = WHOLE,
) -> SavedSession:  # fmt: skip
    """The steps that repeat this session, event by event.

    timed: each call has its time (`at:`), instead of a run before it: a program has no runs, and
    half as many steps. Raises Stopped on ^C; it takes as long as the session itself.
    """
    retelling = _Retelling(session, expect, timed=timed, cut=cut)
    try:
        begun = {name: hca.profile for name, hca in retelling.again.world.nodes.items()}
        devices = {name: _device(profile) for name, profile in begun.items()}
        made = SavedSession(title, session.seed, devices, *retelling.steps())
        if cut.last is None:
            made.outside = list(session.outside)
            made.awaited = [render_question(each) for each in session.unanswered]
        return made
    finally:
        retelling.again.dispose()


def saved(
    session: Session, title: str, expect: Expect = Expect.NONE, *, timed: bool = False
) -> str:
    """The text of a scenario that repeats this session; the arguments are those of `saved_session`.

    Its head has the devices before the first command: `link mtu=256` is a step.
    """
    return saved_session(session, title, expect, timed=timed).as_yaml()


def _mapping(keys: dict[str, str]) -> str:
    """`{profile: strict, max_qp_wr: 16}`."""
    return f"{{{', '.join(f'{key}: {value}' for key, value in keys.items())}}}"


def _device(profile: Profile) -> dict[str, str]:
    """The name of the profile, and the limits that differ from it."""
    named = PROFILES.get(profile.name)
    if named is None or replace(named, caps=profile.caps) != profile:
        raise Unsavable(f"a scenario cannot name its device {profile.name}")
    own = {
        cap.name: str(int(value))
        for cap in fields(profile.caps)
        if (value := getattr(profile.caps, cap.name)) != getattr(named.caps, cap.name)
    }
    return {"profile": profile.name, **own}


@dataclass(slots=True)
class SavedStep:
    """One step: its action and name, and what must be true after it.

    octets: what a command writes into memory, where `words` has an empty text for it. by: who has
    called, in a session file only.
    """

    action: str
    words: str
    name: str = ""
    at_ns: int | None = None
    errno: str = ""
    by: str = ""
    octets: str = ""
    expect: list[str] = field(default_factory=list)
    wire: list[str] | None = None

    @property
    def row(self) -> session_file.Row:
        """The step of a session file."""
        found: session_file.Row = {self.action: self.words}
        found |= {"at": self.at_ns} if self.at_ns is not None else {}
        found |= {"errno": self.errno} if self.errno else {}
        found |= {"by": self.by} if self.by else {}
        return found | ({"bytes": self.octets} if self.octets else {})

    @property
    def text(self) -> str:
        """Its lines in YAML; a `do` without other keys is a plain text."""
        words = self.words
        if self.octets:
            words = f"{words.removesuffix(_EMPTY)}{in_quotes(self.octets)}"
        more = [f"name: {self.name}"] if self.name else []
        more += [f"at: {spelled(self.at_ns, Unit.NS)}"] if self.at_ns is not None else []
        more += [f"errno: {self.errno}"] if self.errno else []
        more += _listed("expect", self.expect) if self.expect else []
        more += _listed("wire", self.wire) if self.wire is not None else []
        if self.action == "do" and not more:
            return f"  - {text_of(words)}"
        return "\n    ".join([f"  - {self.action}: {text_of(words)}", *more])


def _listed(key: str, lines: list[str]) -> list[str]:
    return [f"{key}:", *(f"  - {text_of(line)}" for line in lines)] if lines else [f"{key}: []"]


class _Retelling:
    """A replay of the journal, to find the runs between commands and their effects."""

    def __init__(self, session: Session, expect: Expect, *, timed: bool, cut: Cut) -> None:
        self.session = session
        self.observes = expect is Expect.ALL
        self.timed = timed and not self.observes
        self.first, self.last = cut
        self.again = session.restarted()
        self.is_all_done = True  # all that was due before the last command had happened then
        self.facts: Facts = {}

    def steps(self) -> tuple[list[SavedStep], list[SavedStep]]:
        """Each command, after the run before it, with the expectations, in two parts."""
        history = self.session.history
        begun, found = list[SavedStep](), list[SavedStep]()
        begins = self.first is None
        for entry in self.session.journal:
            if self.last is not None and entry.event > self.last:
                break
            begins = begins or self._begins(entry.event, begun)
            (found if begins else begun).extend(self._steps(entry))
        end = history.end  # of the branch, though we stand before
        if self.last is not None:
            end = min(end, history.place_after(self.last))
        begins = begins or self._begins(end.event, begun)
        found += self._between(*end)
        if self.observes and found:
            found[-1].expect += self._news()
        for step in begun:
            step.name, step.expect, step.wire = "", [], None
        return begun, found

    def _begins(self, event: int, begun: list[SavedStep]) -> bool:
        """Whether the cut begins before this event; then all that is before it is in `begun`."""
        if self.first is None or event < self.first:
            return False
        begun += self._between(self.first - 1, 0)
        return True

    def _steps(self, entry: Entry) -> Iterator[SavedStep]:
        check()
        before = list(self._between(entry.event - 1, entry.at_ns))
        step = self._command_step(entry.invocation)
        step.by = self.session.caller_of(entry.event)
        outcome = self.again.perform(entry.invocation)
        if self.timed and before and self.is_all_done and sum(bool(e.name) for e in before) < 2:
            step.at_ns, step.name = entry.at_ns, before[0].name
        else:
            yield from before
        if outcome.refusal is not None:
            step.errno = errno_name(outcome.refusal.errno)
        yield step

    def _command_step(self, invocation: Invocation) -> SavedStep:
        """The step of a command; long texts that it writes into memory stand beside it."""
        text = invocation.arguments.get("text", "") if invocation.name in FILLING else ""
        if len(text) <= _SHORT or max(text) > "\xff":
            text = ""
        else:
            invocation = replace(invocation, arguments={**invocation.arguments, "text": ""})
        words = render(invocation, self.session.vocabulary[invocation.name])
        return SavedStep("do", words, octets=text)

    def _between(self, event: int, at_ns: int) -> Iterator[SavedStep]:
        """This many events, then a time without events."""
        world = self.again.world
        while events := min(LONGEST, event - world.event):
            first = len(world.trace.records)
            self._run(events)
            ends = world.event == event and world.agenda.next_ns() is None
            text = "until idle" if ends else f"step {events}"
            yield self._observed(SavedStep("run", text, name=_HAPPENED), first)
        if (wait_ns := at_ns - world.now_ns) > 0:
            world.advance(at_ns)
            yield SavedStep("run", spelled(wait_ns, Unit.NS))
        due_ns = world.agenda.next_ns()
        self.is_all_done = due_ns is None or due_ns > at_ns

    def _run(self, events: int) -> None:
        last = self.again.world.event + events
        while left := last - self.again.world.event:
            check(self.again.world.event, self.session.history.end.event)
            self.again.history.run(min(left, SLICE))

    def _observed(self, step: SavedStep, first_record: int) -> SavedStep:
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
