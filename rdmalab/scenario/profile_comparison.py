"""Play a scenario on two device models, and find the first event that differs and the cause.

The cause is a cell of the profile table. A profile that notes which of its cells the engines read
narrows the search; then the scenario is played again with single cells of the other profile. What
is named is proved: with these cells, and not with fewer, the event is as on the other device.
"""

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field, fields, is_dataclass
from enum import Enum
from typing import NamedTuple, TypeVar

from rdmalab.doctor.report.report import Report
from rdmalab.grammar.format import render
from rdmalab.scenario.loader import Scenario
from rdmalab.scenario.runner import OpenSession, Through
from rdmalab.session.session import Session
from rdmalab.spec.limits import DeviceCaps
from rdmalab.spec.profiles import CELLS, PROFILES, Profile
from rdmalab.spec.records import Record, at_ns_of, event_of, kind_of, packet_of
from rdmalab.spec.refusals import REFUSALS, Refusal
from rdmalab.spec.row import dataclass
from rdmalab.spec.rules import RULES, errno_name
from rdmalab.spec.states import Attribute
from rdmalab.views import fmt, packets, record_text, story
from rdmalab.views.packets import CARRIES
from rdmalab.wire.links import encode
from rdmalab.wire.packet import Packet

_CAPS = "caps"
_MAPPINGS = ("errnos", "batch_errnos", "refusals", "attributes")
PARTS = frozenset({*CELLS, _CAPS, *_MAPPINGS})
"""The cells of a profile, and its parts that are no cells."""
_ENGINES = ("rdmalab.hca.", "rdmalab.world.", "rdmalab.verbs.")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Cause:
    """A cell that differs. name: `joins_acks`, `errnos[send-state]`, `caps.max_qp`.

    sentence: what the cell means. left, right: its values. asked_by: the module that read it;
    empty: none was seen to read it.
    """

    name: str
    sentence: str
    left: str
    right: str
    asked_by: str = ""


class Reading(NamedTuple):
    """First reader of a part of a profile, and the event."""

    event: int
    module: str


class Cell(NamedTuple):
    """A cell of the table, or one entry of a part of a profile."""

    part: str
    key: str = ""

    @property
    def text(self) -> str:
        if not self.key:
            return self.part
        return f"{self.part}.{self.key}" if self.part == _CAPS else f"{self.part}[{self.key}]"

    def value(self, profile: Profile) -> object:
        """Its value; None where a mapping has no such entry."""
        whole = getattr(profile, self.part)
        if not self.key:
            return whole
        return getattr(whole, self.key) if self.part == _CAPS else whole.get(self.key)


def watching(asked: dict[str, Reading], now: Callable[[], int]) -> type[Profile]:
    """A class of profiles that note which parts an engine reads, and during which event first."""

    class Watched(Profile):
        """A copy made by `dataclasses.replace` is watched as well."""

        __slots__ = ()

        def __getattribute__(self, name: str) -> object:
            if name in PARTS and name not in asked:
                here = inspect.currentframe()
                caller = here.f_back if here is not None else None
                module = str(caller.f_globals["__name__"]) if caller is not None else ""
                if module.startswith(_ENGINES):
                    asked[name] = Reading(now(), module)
            return object.__getattribute__(self, name)

    return Watched


def differing(ours: Profile, theirs: Profile) -> list[Cell]:
    """The cells in which two profiles differ."""
    found: list[Cell] = []
    for part in sorted(PARTS):
        if part == _CAPS:
            cells = [Cell(part, each.name) for each in fields(ours.caps)]
        elif part in _MAPPINGS:
            keys = sorted({*getattr(ours, part), *getattr(theirs, part)})
            cells = [Cell(part, key) for key in keys]
        else:
            cells = [Cell(part)]
        found += [cell for cell in cells if cell.value(ours) != cell.value(theirs)]
    return found


def changed(profile: Profile, cells: Sequence[Cell], other: Profile) -> Profile:
    """The profile with the values of another in these cells; limits of the file are kept."""
    values: dict[str, object] = {}
    caps: dict[str, object] = {}
    for cell in cells:
        if cell.part == _CAPS:
            if cell.value(profile) == cell.value(PROFILES[profile.name]):
                caps[cell.key] = cell.value(other)
        elif cell.key:
            given = values.setdefault(cell.part, dict(getattr(profile, cell.part)))
            assert isinstance(given, dict)
            given.pop(cell.key, None)
            if (value := cell.value(other)) is not None:
                given[cell.key] = value
        else:
            values[cell.part] = cell.value(other)
    if caps:
        values[_CAPS] = copied(DeviceCaps, profile.caps, caps)
    return copied(Profile, profile, values) if values else profile


def copied(kind: type[_T], of: Profile | DeviceCaps, values: Mapping[str, object]) -> _T:
    """A copy with other values, as an object of this class."""
    made = object.__new__(kind)
    for each in fields(of):
        object.__setattr__(made, each.name, values.get(each.name, getattr(of, each.name)))
    return made


def cause(left: str, right: str, cell: Cell, notes: Mapping[str, Reading]) -> Cause:
    """A cell with its values of two profiles, by name. notes: who read which part."""
    by = notes[cell.part].module if cell.part in notes else ""
    ours, theirs = (_value_text(cell, PROFILES[name]) for name in (left, right))
    return Cause(cell.text, _sentence(cell), ours, theirs, by.removeprefix("rdmalab."))


def _sentence(cell: Cell) -> str:
    """Sentence that explains a cell."""
    match cell.part:
        case "caps":
            return f"The limit {cell.key} of the device."
        case "errnos" | "batch_errnos":
            return f"The errno of the rule {cell.key}: {RULES[cell.key].general}"
        case "refusals":
            return f"How the responder refuses {cell.key}: {REFUSALS[cell.key].sentence}"
        case "attributes":
            return f"The range of {cell.key} in modify_qp."
    return CELLS[cell.part]


def _value_text(cell: Cell, profile: Profile) -> str:
    value = cell.value(profile)
    if cell.part in ("errnos", "batch_errnos"):
        return errno_name(value if isinstance(value, int) else RULES[cell.key].errno)
    if isinstance(value, Attribute):
        return f"{value.low} to {value.limit or value.high}"
    if isinstance(value, Refusal):
        status = value.status.name if value.status is not None else "no status"
        return f"{value.syndrome.name if value.syndrome else 'no answer'}, {status}"
    if isinstance(value, frozenset):
        return ", ".join(sorted(map(plain, value))) or "none"
    return plain(value)


def plain(value: object) -> str:
    """A value of a cell or of a row as text: the name of an enum, words of a tuple."""
    if isinstance(value, tuple):
        return " ".join(map(plain, value))
    if isinstance(value, Enum):
        return str(value.name)
    return str(value)


_NOTHING = ("no such event",)


@dataclass(frozen=True, slots=True)
class Difference:
    """The first event that differs; if none does, the first step that ends differently.

    Events are compared by their sentences, and if all are equal by the bytes of packets.
    event: None: no event differs. step: its number, from 1. line: its command. left, right: what
    happened. causes: none: no cells of the table explain it.
    """

    event: int | None
    step: int
    line: str
    left: tuple[str, ...]
    right: tuple[str, ...]
    causes: tuple[Cause, ...] = ()


@dataclass(slots=True)
class _Play:
    """A scenario played, to its end or beyond the event that matters.

    By event: its records, and what its command returned. Texts are made of those that are compared:
    of a session of 30,000 events, most of the time went into texts after the first difference.
    """

    runner: Through
    asked: dict[str, Reading]
    records: dict[int, list[Record]] = field(default_factory=dict)
    answers: dict[int, list[str]] = field(default_factory=dict)

    @property
    def events(self) -> set[int]:
        return self.records.keys() | self.answers.keys()

    def texts(self, event: int) -> list[object]:
        """Time, subject and sentence of each record, then what the command returned."""
        world, names = self.session.world, self.session.names
        found: list[object] = [
            (
                at_ns_of(each),
                record_text.subject(names, each),
                record_text.sentence(world, names, each),
            )
            for each in self.records.get(event, ())
        ]
        return found + self.answers.get(event, [])

    def octets(self, event: int) -> list[bytes]:
        """The bytes of each packet."""
        found = []
        for record in self.records.get(event, ()):
            if kind_of(record) in CARRIES:
                carried = packet_of(record)
                found.append(encode(carried) if isinstance(carried, Packet) else carried.octets)
        return found

    @property
    def session(self) -> Session:
        return self.runner.session


class ProfilePair:
    """Plays one scenario under two profiles, by name, and compares the plays.

    ignored: names of cells, or of parts of a profile, in which both have the value of the right
    one. Raises KeyError for a name that is neither.
    """

    def __init__(
        self, scenario: Scenario, open_session: OpenSession, left: str, right: str,
        ignored: Collection[str] = (),
    ) -> None:  # fmt: skip
        for name in ignored:
            if name.partition("[")[0].partition(".")[0] not in PARTS:
                raise KeyError(name)
        self._scenario = scenario
        self._open_session = open_session
        self._left, self._right = left, right
        self._differing = list(differing(PROFILES[left], PROFILES[right]))
        self._ignored = [cell for cell in self._differing if {cell.text, cell.part} & {*ignored}]
        self._plays = self._play(left, self._ignored, is_watched=True), self._play(right, ())
        self._beside: dict[int, _Play] = {}  # the right one, up to an event
        self._reads_bytes = False  # those of packets, too

    def difference(self) -> Difference | None:
        """The first difference; None: there is none."""
        one, other = self._plays
        self._reads_bytes = False
        event = self._first_difference(one, other)
        if event is None and (step := _step_difference(one, other)) is not None:
            return step
        if event is None:
            self._reads_bytes = True
            event = self._first_difference(one, other)
        if event is None:
            return None
        number, line = _step_of(one if event in one.events else other, event)
        return Difference(
            event, number, line, *_reply_texts(one, other, event), self._causes(event)
        )

    def _play(
        self, name: str, cells: Sequence[Cell], *, is_watched: bool = False, last: int | None = None
    ) -> _Play:
        """cells: that have the values of the right profile. last: its event; None: the last one."""
        asked: dict[str, Reading] = {}
        sessions: list[Session] = []
        watched = watching(asked, lambda: sessions[0].world.event if sessions else -1)

        def opened(profiles: Mapping[str, Profile], **more: int) -> Session:
            right = PROFILES[self._right]
            made = {node: changed(each, cells, right) for node, each in profiles.items()}
            if is_watched:
                made = {node: copied(watched, each, {}) for node, each in made.items()}
            sessions.append(self._open_session(made, **more))
            return sessions[-1]

        play = _Play(Through(self._scenario, opened, profile=name), asked)
        while not play.runner.over and (last is None or play.session.world.event <= last):
            for reply in play.runner.replies():
                if reply.travel is None and not isinstance(reply.value, Report):
                    event = play.session.world.event if reply.event is None else reply.event
                    returned = _flat(reply.text.split()[0], reply.value)
                    play.answers.setdefault(event, []).extend(returned)
        for record in play.session.world.trace.records:
            play.records.setdefault(event_of(record), []).append(record)
        return play

    # ------------------------------------------------------------------ causes
    def _causes(self, event: int) -> tuple[Cause, ...]:
        """The smallest set of cells with which left does in this event as right.

        First of those that left has read: up to this event both have done the same, so that right
        has read no other ones.
        """
        notes = self._plays[0].asked
        differing = [cell for cell in self._differing if cell not in self._ignored]
        read = [c for c in differing if c.part in notes and notes[c.part].event <= event]
        for cells in (read, differing):
            if self._explain(event, cells):
                found = self._fewest(event, cells)
                return tuple(cause(self._left, self._right, cell, notes) for cell in found)
        return ()

    def _fewest(self, event: int, cells: list[Cell]) -> list[Cell]:
        """The cells without those that are not needed: first whole parts, then single entries."""
        needed = cells
        groups = [[c for c in cells if c.part == part] for part in {c.part: 0 for c in cells}]
        for some in (*groups, *([cell] for cell in cells)):
            fewer = [cell for cell in needed if cell not in some]
            if len(fewer) < len(needed) and self._explain(event, fewer):
                needed = fewer
        return needed

    def _explain(self, event: int, cells: Sequence[Cell]) -> bool:
        """Whether left with these cells does as right up to this event."""
        if not cells:
            return False
        if (
            event not in self._beside
        ):  # where both end, or the names of destroyed objects would differ
            self._beside[event] = self._play(self._right, (), last=event)
        play = self._play(self._left, [*self._ignored, *cells], last=event)
        return self._first_difference(play, self._beside[event], event) is None

    def _first_difference(self, one: _Play, other: _Play, last: int | None = None) -> int | None:
        """The first event, up to the last one, that is not the same in both; None: all are."""
        read = _Play.octets if self._reads_bytes else _Play.texts
        numbers = sorted(n for n in one.events | other.events if last is None or n <= last)
        return next((n for n in numbers if read(one, n) != read(other, n)), None)


# --------------------------------------------------------------------------- events
def _flat(name: str, value: object) -> Iterator[str]:
    """A value that a command returned, as `wc_flags = GRH` for each of its parts."""
    if isinstance(value, Enum | int | str | bytes | None):
        yield f"{name} = {plain(value)}"
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            yield from _flat(f"{name}[{number}]", item)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _flat(f"{name}.{key}", item)
    elif is_dataclass(value) and not isinstance(value, type):
        for each in fields(value):
            yield from _flat(f"{name}.{each.name}", getattr(value, each.name))


def _reply_texts(one: _Play, other: _Play, event: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The event in both plays: in a sentence, else by its records, else by fields of its packet."""
    for tell in (_sentences, _records, _answers, _packet_fields):
        left, right = tell(one, event), tell(other, event)
        if left != right:
            both = [row for row in left if row in right]
            cut = [tuple(row for row in rows if row not in both) for rows in (left, right)]
            return (cut[0] or _NOTHING, cut[1] or _NOTHING)
    return _NOTHING, _NOTHING


def _sentences(play: _Play, event: int) -> list[str]:
    if event not in play.events:
        return []
    row = story.event_row(play.session.world, play.session.names, event)
    return [f"{fmt.clock(row.at_ns)}  {row.text}" if row.at_ns is not None else row.text]


def _records(play: _Play, event: int) -> list[str]:
    rows = story.record_rows(play.session.world, play.session.names, event)
    return [f"{row.subject} {row.sentence}" for row in rows]


def _answers(play: _Play, event: int) -> list[str]:
    return play.answers.get(event, [])


def _packet_fields(play: _Play, event: int) -> list[str]:
    decoded = packets.of_event(play.session.world, event)
    layers = decoded.layers if decoded is not None else []
    return [f"{layer.name} {row.name} {row.text}" for layer in layers for row in layer.fields]


# --------------------------------------------------------------------------- steps
def _step_of(play: _Play, event: int) -> tuple[int, str]:
    """The number and the command of the step in which an event happened; 0: before the first.

    Of a session file, whose steps are many calls each: those of the last call up to the event.
    """
    if play.runner.scenario.is_session:
        journal, vocabulary = play.session.journal, play.session.vocabulary
        number = journal.before(event + 1)
        called = journal[number - 1].invocation if number else None
        return number, render(called, vocabulary[called.name]) if called is not None else ""
    results = play.runner.results
    found = next(
        (each for each in results if each.event >= event), results[-1] if results else None
    )
    return (found.number, found.step.line or "") if found is not None else (0, "")


def _step_difference(one: _Play, other: _Play) -> Difference | None:
    """The first step with another outcome although no event differs."""
    path = one.runner.scenario.path
    for left, right in zip(one.runner.results, other.runner.results, strict=False):
        texts = [each.text(path) or str(each.outcome) for each in (left, right)]
        if texts[0] != texts[1]:
            texts_of_both = [tuple(text.splitlines()) for text in texts]
            return Difference(
                None, left.number, left.step.line or "", texts_of_both[0], texts_of_both[1]
            )
    return None
