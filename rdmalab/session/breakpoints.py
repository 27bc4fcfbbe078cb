"""Breakpoints: questions that are asked after every event, forward and backward.

`break` halts where an answer becomes yes, `watch` where a value changes. What is asked of the last
packet, completion or call is asked anew whenever there is another one.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rdmalab.command import Expression, NotUnderstood, Refused
from rdmalab.spec.records import Field, Kind

if TYPE_CHECKING:
    from rdmalab.session.session import Session

UNKNOWN = "unknown"
# What brings another "last one", by the words that ask for it.
_RENEWED = {"wire.last": Kind.PACKET_SENT, "log.last": Kind.CALLED, ".last": Kind.CQE_ADDED}


@dataclass(slots=True)
class Breakpoint:
    """One question. watches: any change halts, not only a yes. before: the answer so far."""

    number: int
    question: Expression
    watches: bool = False
    before: Any = field(default=None, repr=False)

    def __str__(self) -> str:
        return f"{'watch' if self.watches else 'break'} {self.question.text}"

    @property
    def renewed_by(self) -> Kind | None:
        """The kind of record with which the same answer is another one."""
        text = self.question.text
        return next((kind for word, kind in _RENEWED.items() if word in text), None)


@dataclass(slots=True)
class Breakpoints:
    """All that are set, by number. said: what the last halt was for."""

    by_number: dict[int, Breakpoint] = field(default_factory=dict)
    next_number: int = 1
    said: str = ""

    def __bool__(self) -> bool:
        return bool(self.by_number)

    def add(self, question: Expression, *, watches: bool) -> Breakpoint:
        made = Breakpoint(self.next_number, question, watches)
        self.by_number[made.number] = made
        self.next_number += 1
        return made

    def begin(self, session: "Session") -> None:
        """A journey sets out: what is so now is nothing new."""
        for each in self.by_number.values():
            each.before = answer(session, each.question)

    def hits(self, session: "Session", first_record: int) -> bool:
        """Whether the event just over is one to halt at; `first_record` is its first."""
        found = []
        for each in self.by_number.values():
            before, each.before = each.before, answer(session, each.question)
            if self._is_news(session, each, before, first_record):
                found.append(_news(each, before))
        if found:
            self.said = "; ".join(found)
        return bool(found)

    def _is_news(
        self, session: "Session", each: Breakpoint, before: Any, first_record: int
    ) -> bool:
        if not each.watches and each.before is not True:
            return False
        if each.before != before:
            return True
        kind = each.renewed_by
        records = session.world.trace.records[first_record:]
        return kind is not None and any(record[Field.KIND] is kind for record in records)

    def halt(self, session: "Session") -> str:
        """We stand where one has said so."""
        session.halted = session.history.here
        return self.said


def answer(session: "Session", question: Expression) -> Any:
    """The value of a question now; UNKNOWN where it means nothing, as before a thing is made."""
    try:
        value = session.ask(question.node)
    except (NotUnderstood, Refused):
        return UNKNOWN
    return bool(value) if value in (True, False) and isinstance(value, int) else value


def _news(each: Breakpoint, before: Any) -> str:
    if not each.watches:
        return f"breakpoint {each.number}: {each.question.text}"
    was, now = told(before), told(each.before)
    return f"watch {each.number}: {each.question.text} was {was}, is {now}"


def told(value: Any) -> str:
    """An answer in words."""
    if value is UNKNOWN:
        return "not there"
    if isinstance(value, bytes | bytearray):
        return f"[{bytes(value).hex(' ')}]"
    return str(getattr(value, "name", None) or value)
