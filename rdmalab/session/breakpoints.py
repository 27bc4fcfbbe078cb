"""Breakpoints: questions that are asked after every event, forward and backward.

`break` halts where an answer becomes yes, `watch` where a value changes. What a `break` asks of the
last packet, completion or call is asked anew whenever there is another one.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rdmalab.command import Expression, NotUnderstood, Refused
from rdmalab.grammar.expressions import paths
from rdmalab.grammar.nodes import Path
from rdmalab.session.branch import Place
from rdmalab.spec.records import Kind, Record, kind_of, node_of, object_of

if TYPE_CHECKING:
    from rdmalab.session.history import History
    from rdmalab.session.session import Session

UNKNOWN = "unknown"
# What brings another "last one" of the world; of a completion queue it is a completion there.
_RENEWED = {
    "wire": (Kind.PACKET_SENT, Kind.PACKET_COPIED, Kind.PACKET_INJECTED),
    "log": (Kind.CALLED,),
}


@dataclass(slots=True)
class Breakpoint:
    """One question. watches: any change halts, not only a yes. before: the answer so far."""

    number: int
    question: Expression
    watches: bool = False
    before: Any = field(default=None, repr=False)

    def __str__(self) -> str:
        return f"{'watch' if self.watches else 'break'} {self.question.text}"


@dataclass(slots=True)
class Breakpoints:
    """All that are set, by number.

    said: what the last halt was for. halted: on which branch and where in its time that was.
    """

    by_number: dict[int, Breakpoint] = field(default_factory=dict)
    next_number: int = 1
    said: str = ""
    halted: tuple[str, Place] | None = None

    def __bool__(self) -> bool:
        return bool(self.by_number)

    def add(self, question: Expression, *, watches: bool) -> Breakpoint:
        made = Breakpoint(self.next_number, question, watches)
        self.by_number[made.number] = made
        self.next_number += 1
        self.halted = None  # this one has not spoken yet
        return made

    def begin(self, session: "Session") -> None:
        """A journey sets out: what is so now is nothing new."""
        for each in self.by_number.values():
            each.before = _asked(session, each)

    def hits(self, session: "Session", first_record: int) -> bool:
        """Whether the event just over is one to halt at; `first_record` is its first."""
        found = []
        for each in self.by_number.values():
            before, each.before = each.before, _asked(session, each)
            if each.before != before or _is_asked_anew(session, each, first_record):
                found += _news(each, before)
        if found:
            self.said = "; ".join(found)
        return bool(found)

    def halt(self, history: "History") -> str:
        """We stand where one has said so."""
        self.halted = (history.branch.name, history.here)
        return self.said

    def has_halted_at(self, history: "History") -> bool:
        """Whether what they have to say of this moment has been said."""
        return self.halted == (history.branch.name, history.here)


def _asked(session: "Session", each: Breakpoint) -> Any:
    """What is watched; of a breakpoint whether the answer is yes."""
    value = answer(session, each.question)
    return value if each.watches else value is not UNKNOWN and bool(value)


def _is_asked_anew(session: "Session", each: Breakpoint, first_record: int) -> bool:
    """Whether a breakpoint asks of the last one of something, and there is another one now."""
    if each.watches or not each.before:
        return False
    records = session.world.trace.records[first_record:]
    asked = list(paths(each.question.node))
    return any(_is_another(session, path, record) for path in asked for record in records)


def _is_another(session: "Session", path: Path, record: Record) -> bool:
    match path.steps:
        case ("wire" | "log" as root, "last", *_):
            return kind_of(record) in _RENEWED[root]
        case (str(node), str(name), "last", *_):
            thing = session.names.find(f"{node}.{name}")
            subject = (node_of(record), object_of(record))
            is_its_own = thing is not None and subject == (thing.node, thing.number)
            return is_its_own and kind_of(record) is Kind.CQE_ADDED
    return False


def answer(session: "Session", question: Expression) -> Any:
    """The value of a question now; UNKNOWN where it means nothing, as before a thing is made."""
    try:
        return session.ask(question.node)
    except (NotUnderstood, Refused):
        return UNKNOWN


def _news(each: Breakpoint, before: Any) -> list[str]:
    """What there is to say of another answer; nothing where a yes became a no."""
    if each.watches:
        was, now = told(before), told(each.before)
        return [f"watch {each.number}: {each.question.text} was {was}, is {now}"]
    return [f"breakpoint {each.number}: {each.question.text}"] if each.before else []


def told(value: Any) -> str:
    """An answer in words."""
    if value is UNKNOWN:
        return "not there"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, bytes | bytearray):
        return f"[{bytes(value).hex(' ')}]"
    return "nothing" if value is None else str(getattr(value, "name", None) or value)
