"""Memory regions."""

from rdmalab.command import Bytes, Noun, Thing, command
from rdmalab.hca import mr as memory_regions
from rdmalab.spec.access import Access
from rdmalab.verbs.nouns import Mr, NewMr, Pd
from rdmalab.verbs.same_node import on
from rdmalab.world.world import World


@command
def reg_mr(
    world: World, mr: NewMr, *, pd: Pd, length: Bytes, access: Access, addr: int | None = None
) -> Thing:
    """Register memory, so that the HCA may touch it.

    length: bytes, up to 2^31. access: LOCAL_WRITE for what the own HCA writes, REMOTE_* for what
    the peer may do. addr: without it the host first allocates a buffer of zeros.
    EINVAL: REMOTE_WRITE or REMOTE_ATOMIC without LOCAL_WRITE, length 0. EFAULT: addr not mapped.

    Example: reg_mr A.mr1 pd=A.pd0 length=4096 access=LOCAL_WRITE|REMOTE_WRITE
    See: ibv_reg_mr(3)
    """
    hca = on(world, mr.node, pd)
    made = memory_regions.register(hca, world.find(pd).base, length, int(access), addr)
    return Thing(Noun.MR, mr.node, made.number)


@command
def dereg_mr(world: World, mr: Mr) -> None:
    """Give a memory region back.

    Work requests that still use it are not asked; they fail when they are executed.

    Example: dereg_mr A.mr0
    See: ibv_dereg_mr(3)
    """
    memory_regions.deregister(*world.at(mr))
