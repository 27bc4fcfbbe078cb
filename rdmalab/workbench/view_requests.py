"""What somebody wants to see, and what there is: requests in, views out."""

from dataclasses import dataclass, field
from typing import Annotated, Any

from rdmalab.command import Alias, NotUnderstood, Noun, OneOf, Range, Region, Thing
from rdmalab.session.session import Session
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.packet_names import PACKETS

BEGIN = "begin with: use rc_pair"


@dataclass(slots=True)
class View:
    """What there is to see: a title, rows of the views, what to do where something is missing.

    event: the one whose rows are marked as what happened just now.
    """

    title: str
    rows: list[Any]
    hint: str = ""
    event: int = -1


@dataclass(slots=True)
class AsyncRow:
    """An asynchronous event that nobody took yet, or that was taken and not acknowledged."""

    node: str
    event: AsyncEvent
    subject: str
    text: str
    taken: bool = False


@dataclass(slots=True)
class JournalRow:
    """A line of the journal: all that a replay needs."""

    event: int
    at_ns: int
    text: str


@dataclass(slots=True)
class Which:
    """How much of it, and which packets."""

    last: Annotated[int, Range(1, 1000)] | None = None
    opcode: Annotated[str, OneOf(PACKETS)] = ""
    source: Annotated[str, Alias("from")] = ""
    target: Annotated[str, Alias("to")] = ""
    psn: int | None = None


@dataclass(slots=True)
class Request:
    """What somebody wants to see."""

    session: Session
    where: Region | None = None
    number: int | None = None
    which: Which = field(default_factory=Which)

    @property
    def thing(self) -> Thing | None:
        return self.where.thing if self.where else None

    def things(self, noun: Noun) -> list[Thing]:
        """The thing that was named, all of its node, or all there are."""
        named = self.thing
        if named is not None and named.noun is noun:
            return [named]
        found = living(self.session, noun)
        return found if named is None else [t for t in found if t.node == named.node]

    def one(self, noun: Noun) -> Thing:
        """The thing that was named, else the only one; NotUnderstood where that is not clear."""
        found = self.things(noun)
        if len(found) == 1:
            return found[0]
        names = " ".join(self.session.names.of(thing) for thing in found)
        raise NotUnderstood(f"which {noun}?", hint=f"there is: {names}" if names else BEGIN)


def living(session: Session, noun: Noun) -> list[Thing]:
    """All things of a noun that exist, oldest first."""
    return session.names.living(session.world, noun)
