"""Requests for views, and views: a title with rows."""

from collections.abc import Sequence
from dataclasses import field
from typing import Annotated, Any

from rdmalab.command import Alias, NotUnderstood, Noun, OneOf, Range, Region, Thing
from rdmalab.session.session import Session
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.opcodes import PACKETS
from rdmalab.spec.row import dataclass
from rdmalab.views import fmt
from rdmalab.views.columns import Col, Meaning, describe

PANE_LINES = 20  # rows of an endless list, unless the request says how many


@dataclass(slots=True)
class View:
    """A title, rows of the views, and a hint if there are none.

    event: number of the event whose rows are marked.
    """

    title: str
    rows: list[Any]
    hint: str = ""
    event: int = -1


@dataclass(slots=True)
class AsyncRow:
    """An asynchronous event that is pending, or was read and not acknowledged."""

    node: str
    event: AsyncEvent
    subject: str
    text: str
    taken: bool = False


describe(
    AsyncRow,
    Col("node", Meaning.NAME),
    Col("event", Meaning.ATTENTION, form=fmt.value),
    Col("about", of=lambda row: f"{row.subject}: {row.text}"),
    Col("taken", Meaning.DIM, of=lambda row: "read, not acknowledged" if row.taken else None),
)


@dataclass(slots=True)
class SetFault:
    """A fault that is set. met: the packets that it has acted on."""

    number: int
    text: str
    met: int


describe(
    SetFault,
    Col("number", Meaning.NAME),
    Col("text"),
    Col("met", Meaning.DIM, of=lambda row: f"acted on {fmt.count(row.met, 'packet')}"),
)


@dataclass(slots=True)
class JournalRow:
    """A line of the journal."""

    event: int
    at_ns: int
    text: str


describe(
    JournalRow,
    Col("event", Meaning.EVENT, "ev {}"),
    Col("at_ns", Meaning.DIM, form=fmt.clock),
    Col("text"),
)


@dataclass(slots=True)
class Which:
    """Number of rows, and filter of packets."""

    last: Annotated[int, Range(1, 1000)] | None = None
    opcode: Annotated[str, OneOf(PACKETS)] = ""
    source: Annotated[str, Alias("from")] = ""
    target: Annotated[str, Alias("to")] = ""
    psn: int | None = None


@dataclass(slots=True)
class ViewRequest:
    """A request for a view."""

    session: Session
    where: Region | None = None
    number: int | None = None
    which: Which = field(default_factory=Which)

    @property
    def thing(self) -> Thing | None:
        return self.where.thing if self.where else None

    def things(self, noun: Noun) -> list[Thing]:
        """The named object, all of its node, or all objects of the noun."""
        named = self.thing
        if named is not None and named.noun is noun:
            return [named]
        found = living(self.session, noun)
        return found if named is None else [t for t in found if t.node == named.node]

    def one(self, noun: Noun) -> Thing:
        """The named object, else the only one; raises NotUnderstood if there are several."""
        found = self.things(noun)
        if len(found) == 1:
            return found[0]
        named = self.session.names
        names = " ".join(named.of(thing) for thing in found)
        hint = f"there is: {names}" if names else named.way_to(noun)
        raise NotUnderstood(f"which {noun}?", hint=hint)


def living(session: Session, noun: Noun) -> list[Thing]:
    """All existing objects of a noun, oldest first."""
    return session.names.living(session.world, noun)


def if_empty(rows: Sequence[object], hint: str) -> str:
    """The hint if there are no rows."""
    return "" if rows else hint
