"""Events: completion channels that wake a program, and what the device reports sideways."""

from typing import Annotated

from rdmalab.command import VERB, Noun, Thing, command
from rdmalab.hca import async_events, channels, lifecycle
from rdmalab.hca.cq import CompletionQueue
from rdmalab.hca.objects import CompChannel
from rdmalab.hca.wr import U32
from rdmalab.spec.async_events import EVENTS, AsyncEvent
from rdmalab.spec.row import dataclass
from rdmalab.verbs.nouns import Channel, Cq, NewChannel
from rdmalab.world.world import World

Node = Annotated[Thing, Noun.NODE]


@dataclass(slots=True)
class CqEvent:
    """The values that `ibv_get_cq_event` fills in."""

    cq: Thing
    cq_context: int


@dataclass(slots=True)
class AsyncReport:
    """`ibv_async_event`: the object it names, or the port, or the device."""

    event: AsyncEvent
    thing: Thing | None = None
    port_num: int | None = None


@command(VERB)
def create_comp_channel(world: World, channel: NewChannel) -> Thing:
    """Create a completion channel: what a program sleeps on until a completion queue calls.

    Example: create_comp_channel A.ch0
    See: ibv_create_comp_channel(3); explain req_notify_cq
    """
    made = lifecycle.create_comp_channel(world.nodes[channel.node])
    return Thing(Noun.CHANNEL, channel.node, made.number)


@command(VERB)
def destroy_comp_channel(world: World, channel: Channel) -> None:
    """Destroy a completion channel.

    EBUSY while a completion queue was made with it.

    Example: destroy_comp_channel A.ch0
    See: ibv_create_comp_channel(3)
    """
    lifecycle.destroy_comp_channel(*world.at(channel, CompChannel))


@command(VERB)
def req_notify_cq(world: World, cq: Cq, *, solicited_only: bool = False) -> None:
    """Arm a completion queue: its next completion puts one event on its channel.

    One shot: arm it again for the next event. Completions already in the CQ raise none:
    the safe order is get_cq_event, ack_cq_events, req_notify_cq, then poll_cq until it is empty.
    solicited_only=1 waits for a receive sent with SOLICITED, or for an error.

    Example: req_notify_cq A.cq0 solicited_only=1
    See: ibv_req_notify_cq(3)
    """
    hca, queue = world.at(cq, CompletionQueue)
    channels.arm(hca, queue, solicited_only=solicited_only)


@command(VERB)
def get_cq_event(world: World, channel: Channel) -> CqEvent:
    """Take the oldest completion event of a channel; it has to be acknowledged.

    Where C would block, EAGAIN says what would wake it.

    Example: get_cq_event A.ch0
    See: ibv_get_cq_event(3); explain ack_cq_events
    """
    cq = channels.take(*world.at(channel, CompChannel))
    return CqEvent(Thing(Noun.CQ, channel.node, cq.number), cq.context)


@command(VERB)
def ack_cq_events(world: World, cq: Cq, *, nevents: U32 = 1) -> None:
    """Acknowledge completion events that get_cq_event took; several at once are cheaper.

    EINVAL: more than are unacked. destroy_cq waits until all are.

    Example: ack_cq_events A.cq1 nevents=1
    See: ibv_get_cq_event(3)
    """
    hca, queue = world.at(cq, CompletionQueue)
    channels.acknowledge(hca, queue, nevents)


@command(VERB)
def get_async_event(world: World, node: Node) -> AsyncReport:
    """Take the oldest asynchronous event of a node; it has to be acknowledged.

    One queue per node; unread events stay in it: `show events` lists them. Where C would block,
    EAGAIN.

    Example: get_async_event A
    See: ibv_get_async_event(3); explain ack_async_event
    """
    event, number = async_events.take(world.nodes[node.node])
    noun = EVENTS[event].noun
    if noun in tuple(Noun):
        return AsyncReport(event, Thing(Noun(noun), node.node, number))
    return AsyncReport(event, port_num=number if noun == "port" else None)


@command(VERB)
def ack_async_event(world: World, what: Thing, *, event: AsyncEvent | None = None) -> None:
    """Acknowledge an asynchronous event that get_async_event took, the oldest that fits.

    Of a node, or only of the object that is named; event=QP_FATAL says which kind. Until then the
    object cannot be destroyed. EINVAL: none fits.

    Example: ack_async_event A
    See: ibv_get_async_event(3)
    """
    hca, _ = world.at(what, object)
    of = None if what.noun is Noun.NODE else (str(what.noun), what.number)
    async_events.acknowledge(hca, event, of)
