"""Events: the contents of completion channels, and asynchronous events not yet acknowledged."""

from dataclasses import dataclass
from typing import Annotated

from rdmalab.command import Noun, Thing
from rdmalab.hca import channels
from rdmalab.hca.objects import CompChannel
from rdmalab.session.names import Names
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.views.columns import Col, Meaning, describe
from rdmalab.world.world import World


@dataclass(slots=True)
class ChannelRow:
    """A completion channel."""

    name: Annotated[str, "its name"]
    node: Annotated[str, "whose it is"]
    cqs: Annotated[str, "the completion queues that use it"]
    events: Annotated[int, "completion events that are not yet read"]
    unacked: Annotated[int, "events of its queues that were read and not acknowledged"]
    next: Annotated[str, "the queue whose event is read next; empty: get_cq_event would block"]


def _loud(count: int) -> Meaning:
    return Meaning.ATTENTION if count else Meaning.DIM


describe(
    ChannelRow,
    Col("name", Meaning.NAME),
    Col(
        "events",
        lambda row: _loud(row.events),
        of=lambda row: f"{row.events} event{' waits' if row.events == 1 else 's wait'}",
    ),
    Col("unacked", lambda row: _loud(row.unacked), "{} unacked"),
    Col("cqs", of=lambda row: f"of {row.cqs}" if row.cqs else "no CQ uses it"),
)


@dataclass(slots=True)
class EventsRow:
    """The asynchronous events of a node."""

    waiting: Annotated[int, "events that are not yet read"]
    unacked: Annotated[int, "events that were read and not acknowledged"]
    next: Annotated[AsyncEvent | None, "the event that get_async_event returns next"]
    newest: Annotated[AsyncEvent | None, "the newest event that is not yet read"]


def channel_row(world: World, names: Names, thing: Thing) -> ChannelRow:
    """One completion channel."""
    channel = world.find(thing, CompChannel)
    cqs = channels.members(world.nodes[thing.node], channel)

    def name(number: int) -> str:
        """The name of a CQ."""
        return names.of(Thing(Noun.CQ, thing.node, number))

    return ChannelRow(
        name=names.of(thing),
        node=thing.node,
        cqs=" ".join(name(cq.number) for cq in cqs),
        events=len(channel.events),
        unacked=sum(cq.unacked for cq in cqs),
        next=name(channel.events[0]) if channel.events else "",
    )


def events_row(world: World, node: str) -> EventsRow:
    """The asynchronous events of one node."""
    hca = world.nodes[node]
    waiting = hca.async_events
    return EventsRow(
        waiting=len(waiting),
        unacked=len(hca.async_unacked),
        next=waiting[0][0] if waiting else None,
        newest=waiting[-1][0] if waiting else None,
    )
