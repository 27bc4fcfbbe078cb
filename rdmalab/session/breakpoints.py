"""Breakpoints: conditions that are evaluated after every event, forward and backward.

`break` halts when a condition becomes true, `watch` when a value changes. A condition on the last
packet, completion or call is evaluated again for each new one.
"""

from collections.abc import Callable
from dataclasses import field
from typing import Protocol

from rdmalab.command import Expression, NotUnderstood, Refused
from rdmalab.grammar.nodes import Node, Path
from rdmalab.grammar.trees import paths
from rdmalab.session.branch import TimePoint
from rdmalab.session.history import History
from rdmalab.session.names import Names
from rdmalab.spec.records import Kind, Record, kind_of, node_of, object_of
from rdmalab.spec.row import dataclass
from rdmalab.world.world import World

UNKNOWN = "unknown"
_SHOWN = 16  # bytes of a value, of more only those that differ
# What brings another "last one" of the world; of a completion queue it is a completion there.
_RENEWED = {
    "wire": (Kind.PACKET_SENT, Kind.PACKET_COPIED, Kind.PACKET_INJECTED),
    "log": (Kind.CALLED,),
}


class Questioned(Protocol):
    """A session, as breakpoints ask it: a protocol, because a session has breakpoints."""

    world: World
    names: Names

    @property
    def touches(self) -> Callable[[Node], bool]:
        """A function: True if the last event may have changed the value of an expression."""

    def ask(self, node: Node) -> object:
        """The value of a parsed expression."""


@dataclass(slots=True)
class Breakpoint:
    """One expression.

    Watches: halt at any change, not only when it becomes true. before: last value.
    """

    number: int
    question: Expression
    watches: bool = False
    before: object = field(default=None, repr=False)

    def __str__(self) -> str:
        return f"{'watch' if self.watches else 'break'} {self.question.text}"


@dataclass(slots=True)
class Breakpoints:
    """All breakpoints, by number.

    reason: the reason of the last halt. halted: its branch and moment.
    """

    by_number: dict[int, Breakpoint] = field(default_factory=dict)
    next_number: int = 1
    reason: str = ""
    halted: tuple[str, TimePoint] | None = None

    def __bool__(self) -> bool:
        return bool(self.by_number)

    def add(self, question: Expression, *, watches: bool) -> Breakpoint:
        """Make a breakpoint with the next number. watches: halt at each change of the value."""
        made = Breakpoint(self.next_number, question, watches)
        self.by_number[made.number] = made
        self.next_number += 1
        self.halted = None  # this one has not spoken yet
        return made

    def begin(self, session: Questioned) -> None:
        """Start of a run: store the current values."""
        for each in self.by_number.values():
            each.before = _asked(session, each)

    def hits(self, session: Questioned, first_record: int) -> bool:
        """True if a run halts after this event; first_record: number of its first record."""
        found = []
        for each in self.by_number.values():
            if not session.touches(each.question.node):
                continue
            before, each.before = each.before, _asked(session, each)
            if each.before != before or _is_asked_anew(session, each, first_record):
                found += _news(each, before)
        if found:
            self.reason = "; ".join(found)
        return bool(found)

    def halt(self, history: History) -> str:
        """Halt here: store branch and moment."""
        self.halted = (history.branch.name, history.here)
        return self.reason

    def has_halted_at(self, history: History) -> bool:
        """True if the halt at this moment was reported already."""
        return self.halted == (history.branch.name, history.here)


def _asked(session: Questioned, each: Breakpoint) -> object:
    """The value of a watch; whether the condition of a breakpoint is true."""
    value = answer(session, each.question)
    return value if each.watches else value is not UNKNOWN and bool(value)


def _is_asked_anew(session: Questioned, each: Breakpoint, first_record: int) -> bool:
    """True if a condition is about the last packet, completion or call, and there is a new one."""
    if each.watches or not each.before:
        return False
    records = session.world.trace.records[first_record:]
    asked = list(paths(each.question.node))
    return any(_is_another(session, path, record) for path in asked for record in records)


def _is_another(session: Questioned, path: Path, record: Record) -> bool:
    match path.steps:
        case ("wire" | "log" as root, "last", *_):
            return kind_of(record) in _RENEWED[root]
        case (str(node), str(name), "last", *_):
            thing = session.names.find(f"{node}.{name}")
            subject = (node_of(record), object_of(record))
            is_its_own = thing is not None and subject == (thing.node, thing.number)
            return is_its_own and kind_of(record) is Kind.CQE_ADDED
    return False


def answer(session: Questioned, question: Expression) -> object:
    """The value of an expression now; UNKNOWN if it has none, as before its object exists."""
    try:
        return session.ask(question.node)
    except (NotUnderstood, Refused):
        return UNKNOWN


def _differing(was: bytes, now: bytes) -> str:
    """The bytes that differ, from the first to the last of them."""
    places = [at for at, (old, new) in enumerate(zip(was, now, strict=False)) if old != new]
    if len(was) != len(now) or not places:
        return f"was {len(was)} bytes, is {len(now)} bytes"
    first, stop = places[0], places[-1] + 1
    more = f" and {stop - first - _SHOWN} more" if stop - first > _SHOWN else ""
    old, new = (octets[first : min(stop, first + _SHOWN)].hex(" ") for octets in (was, now))
    return f"bytes {first} to {stop - 1} were {old}{more}, are {new}{more}"


def _news(each: Breakpoint, before: object) -> list[str]:
    """The sentence about a changed value; empty if a condition became false."""
    if each.watches:
        if isinstance(before, bytes) and isinstance(each.before, bytes) and len(before) > _SHOWN:
            return [f"watch {each.number}: {each.question.text}: {_differing(before, each.before)}"]
        was, now = value_text(before), value_text(each.before)
        return [f"watch {each.number}: {each.question.text} was {was}, is {now}"]
    return [f"breakpoint {each.number}: {each.question.text}"] if each.before else []


def value_text(value: object) -> str:
    """A value as text."""
    if value is UNKNOWN:
        return "not defined"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, bytes | bytearray):
        return f"[{bytes(value).hex(' ')}]"
    return "nothing" if value is None else str(getattr(value, "name", None) or value)
