"""Completion queues."""

from rdmalab.command import Noun, Thing, command
from rdmalab.hca import objects
from rdmalab.hca.refuse import refused
from rdmalab.hca.wr import Cqe
from rdmalab.verbs.nouns import Cq, NewCq
from rdmalab.world.world import World


@command
def create_cq(world: World, cq: NewCq, *, cqe: int, comp_vector: int = 0) -> Thing:
    """Create a completion queue for at least `cqe` entries.

    EINVAL: cqe outside 1..max_cqe, comp_vector the device does not have. ENOMEM beyond max_cq.

    Example: create_cq A.cq1 cqe=16
    See: ibv_create_cq(3)
    """
    made = objects.create_cq(world.nodes[cq.node], cqe, comp_vector)
    return Thing(Noun.CQ, cq.node, made.number)


@command
def destroy_cq(world: World, cq: Cq) -> None:
    """Destroy a completion queue.

    EBUSY while a queue pair completes on it.

    Example: destroy_cq A.cq0
    See: ibv_create_cq(3)
    """
    objects.destroy_cq(*world.at(cq))


@command
def poll_cq(world: World, cq: Cq, *, num_entries: int = 1) -> list[Cqe]:
    """Take up to `num_entries` completions off a completion queue, oldest first.

    A polled send completion gives back its slot and those of all earlier WRs of its queue: without
    polling, the send queue fills for good. On an error status only wr_id, status, qp_num and
    vendor_err mean anything.

    Example: poll_cq A.cq0 num_entries=4
    See: ibv_poll_cq(3)
    """
    hca, queue = world.at(cq)
    if num_entries < 1:
        raise refused(hca.profile, "num-entries", num_entries, argument="num_entries")
    return hca.poll(queue, num_entries)
