"""Completion queues: made, resized, polled, destroyed; `events` has their completion events."""

from typing import Annotated

from rdmalab.command import VERB, Noun, OneOf, Thing, command
from rdmalab.hca import lifecycle, polling
from rdmalab.hca.cq import CompletionQueue
from rdmalab.hca.objects import CompChannel
from rdmalab.hca.polling import CurrentWc
from rdmalab.hca.wr import U64, Cqe
from rdmalab.spec.completions import READS, STANDARD_FIELDS, WcEx
from rdmalab.spec.row import dataclass
from rdmalab.verbs.nouns import Channel, Cq, NewCq, on
from rdmalab.world.world import World


@dataclass(slots=True)
class FieldRead:
    """The result of one `ibv_wc_read_*`. undefined: the completion gives it no meaning."""

    field: str
    value: int
    undefined: bool = False

    @property
    def text(self) -> str:
        """`byte_len = 64`."""
        junk = ": undefined on an error status" if self.undefined else ""
        return f"{self.field} = {self.value}{junk}"


def _channel(world: World, node: str, channel: Channel | None) -> int:
    if channel is None:
        return 0
    on(world, node, channel)
    return int(world.find(channel, CompChannel).number)


@command(VERB)
def create_cq(
    world: World,
    cq: NewCq,
    *,
    cqe: int,
    comp_vector: int = 0,
    channel: Channel | None = None,
    cq_context: U64 = 0,
) -> Thing:
    """Create a completion queue for at least `cqe` entries.

    channel: gets one event after req_notify_cq armed the CQ; without one there are no events.
    cq_context: a number of your own that comes back with each event.
    EINVAL: cqe outside 1..max_cqe, comp_vector the device does not have. ENOMEM beyond max_cq.

    Example: create_cq A.cq1 cqe=16
    See: ibv_create_cq(3)
    """
    hca, comp_channel = world.nodes[cq.node], _channel(world, cq.node, channel)
    made = lifecycle.create_cq(hca, cqe, comp_vector, comp_channel, cq_context)
    return Thing(Noun.CQ, cq.node, made.number)


@command(VERB)
def create_cq_ex(  # noqa: PLR0913  (ibv_cq_init_attr_ex has these)
    world: World,
    cq: NewCq,
    *,
    cqe: int,
    wc_flags: WcEx = STANDARD_FIELDS,
    comp_vector: int = 0,
    channel: Channel | None = None,
    cq_context: U64 = 0,
) -> Thing:
    """Create a completion queue that is read field by field: start_poll, next_poll, end_poll.

    wc_flags: the fields that can be read; opcode, vendor_err and wc_flags always can. Reading any
    other crashes in C. EOPNOTSUPP: a field that the device does not offer.

    Example: create_cq_ex A.cq1 cqe=16 wc_flags=BYTE_LEN|COMPLETION_TIMESTAMP
    See: ibv_create_cq_ex(3); explain start_poll
    """
    hca, comp_channel = world.nodes[cq.node], _channel(world, cq.node, channel)
    made = lifecycle.create_cq(hca, cqe, comp_vector, comp_channel, cq_context, int(wc_flags))
    return Thing(Noun.CQ, cq.node, made.number)


@command(VERB)
def resize_cq(world: World, cq: Cq, *, cqe: int) -> str:
    """Give a completion queue another size, at least `cqe` entries.

    EINVAL: cqe outside 1..max_cqe, or less than what waits to be polled.

    Example: resize_cq A.cq0 cqe=64
    See: ibv_resize_cq(3)
    """
    return f"It holds {lifecycle.resize_cq(*world.at(cq, CompletionQueue), cqe)} completions now."


@command(VERB)
def destroy_cq(world: World, cq: Cq) -> None:
    """Destroy a completion queue.

    EBUSY while a queue pair completes on it. Where C would wait for events that were read
    and not acknowledged, EAGAIN with their number.

    Example: destroy_cq A.cq0
    See: ibv_create_cq(3); explain ack_cq_events
    """
    lifecycle.destroy_cq(*world.at(cq, CompletionQueue))


@command(VERB)
def poll_cq(world: World, cq: Cq, *, num_entries: int = 1) -> list[Cqe]:
    """Take up to `num_entries` completions off a completion queue, oldest first.

    A polled send completion gives back its slot and those of all earlier WRs of its queue: without
    polling, the send queue stays full. On an error status only wr_id, status, qp_num and
    vendor_err mean anything. Of num_entries=0 it takes none.

    Example: poll_cq A.cq0 num_entries=4
    See: ibv_poll_cq(3)
    """
    hca, queue = world.at(cq, CompletionQueue)
    # Of 0 or less the loops of libmlx5 and of librxe take none, and report no error.
    return polling.poll(hca, queue, max(0, num_entries))


# --------------------------------------------------------------------------- extended polling
@command(VERB)
def start_poll(world: World, cq: Cq) -> CurrentWc:
    """Begin to read an extended completion queue: its oldest completion becomes the current one.

    The queue is locked until end_poll; the slot of the work request comes back now. ENOENT: nothing
    is there, and no end_poll is due.

    Example: start_poll A.cq1
    See: ibv_create_cq_ex(3); explain wc_read
    """
    hca, queue = world.at(cq, CompletionQueue)
    return polling.current(queue, polling.start(hca, queue))


@command(VERB)
def next_poll(world: World, cq: Cq) -> CurrentWc:
    """Go on to the next completion of the poll that start_poll began.

    ENOENT: there is none left; end_poll is due all the same.

    Example: next_poll A.cq1
    See: ibv_create_cq_ex(3)
    """
    hca, queue = world.at(cq, CompletionQueue)
    return polling.current(queue, polling.advance(hca, queue))


@command(VERB)
def end_poll(world: World, cq: Cq) -> str:
    """End a poll: the completions that were seen leave the queue.

    Example: end_poll A.cq1
    See: ibv_create_cq_ex(3)
    """
    return f"{polling.end(*world.at(cq, CompletionQueue))} taken off."


@command(VERB)
def wc_read(world: World, cq: Cq, field: Annotated[str, OneOf(READS)]) -> FieldRead:
    """Read one field of the current completion of an extended poll: `ibv_wc_read_byte_len`, …

    A field that wc_flags did not ask for when the queue was made crashes in C.

    Example: wc_read A.cq1 byte_len
    See: ibv_create_cq_ex(3)
    """
    hca, queue = world.at(cq, CompletionQueue)
    value = polling.read(hca, queue, field)
    return FieldRead(field, value, polling.is_undefined(queue, field))
