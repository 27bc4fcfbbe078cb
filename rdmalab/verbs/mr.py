"""Memory regions."""

from rdmalab.command import VERB, Bytes, Noun, Thing, command
from rdmalab.hca import mr as memory_regions
from rdmalab.hca.objects import MemoryRegion, ProtectionDomain
from rdmalab.hca.wr import U64
from rdmalab.spec.access import Access, Rereg
from rdmalab.verbs.nouns import Mr, NewMr, Pd
from rdmalab.verbs.same_node import on
from rdmalab.world.world import World


@command(VERB)
def reg_mr(
    world: World, mr: NewMr, *, pd: Pd, length: Bytes, access: Access, addr: int | None = None
) -> Thing:
    """Register memory, so that the HCA may touch it.

    length: bytes, up to 2^31. access: LOCAL_WRITE for what the local HCA writes, REMOTE_* for what
    the peer may do, MW_BIND for windows; with ZERO_BASED addresses count from 0. addr: without it
    the host first allocates a buffer of zeros.
    EINVAL: REMOTE_WRITE or REMOTE_ATOMIC without LOCAL_WRITE, length 0. EFAULT: addr not mapped.

    Example: reg_mr A.mr1 pd=A.pd0 length=4096 access=LOCAL_WRITE|REMOTE_WRITE
    See: ibv_reg_mr(3)
    """
    hca = on(world, mr.node, pd)
    made = memory_regions.register(
        hca, world.find(pd, ProtectionDomain).base, length, int(access), addr
    )
    return Thing(Noun.MR, mr.node, made.number)


@command(VERB)
def reg_mr_iova(  # noqa: PLR0913  (ibv_reg_mr_iova has these)
    world: World,
    mr: NewMr,
    *,
    pd: Pd,
    length: Bytes,
    hca_va: U64,
    access: Access,
    addr: int | None = None,
) -> Thing:
    """Register memory that work requests call by another address.

    hca_va: how they call its first byte; INLINE data is copied by the CPU, which does not know it.
    EINVAL: addr and hca_va differ within a page; and as reg_mr.

    Example: reg_mr_iova A.mr1 pd=A.pd0 length=4096 hca_va=0x5000 access=LOCAL_WRITE
    See: ibv_reg_mr_iova(3)
    """
    hca, number = on(world, mr.node, pd), world.find(pd, ProtectionDomain).number
    made = memory_regions.register(hca, number, length, int(access), addr, hca_va)
    return Thing(Noun.MR, mr.node, made.number)


@command(VERB)
def rereg_mr(  # noqa: PLR0913  (ibv_rereg_mr has these)
    world: World,
    mr: Mr,
    *,
    flags: Rereg,
    pd: Pd | None = None,
    addr: int | None = None,
    length: Bytes = 0,
    access: Access | None = None,
) -> None:
    """Change a memory region's translation, protection domain or rights.

    flags says which: CHANGE_TRANSLATION with addr and length gives new keys, CHANGE_PD with pd and
    CHANGE_ACCESS with access keep them. EINVAL (ERR_INPUT): flag and argument do not go together,
    the old MR is as it was. EOPNOTSUPP (ERR_CMD): the device cannot do it. EBUSY: a window is
    bound onto it.

    Example: rereg_mr A.mr0 flags=CHANGE_ACCESS access=LOCAL_WRITE
    See: ibv_rereg_mr(3)
    """
    hca, region = world.at(mr, MemoryRegion)
    domain = None
    if pd is not None:
        on(world, mr.node, pd)
        domain = world.find(pd, ProtectionDomain)
    rights = None if access is None else int(access)
    memory_regions.reregister(hca, region, int(flags), domain, (addr, length), rights)


@command(VERB)
def dereg_mr(world: World, mr: Mr) -> None:
    """Give a memory region back.

    Work requests that still use it are not asked; they fail when they are executed. EBUSY (rxe:
    EINVAL) while a memory window is bound to it.

    Example: dereg_mr A.mr0
    See: ibv_dereg_mr(3)
    """
    memory_regions.deregister(*world.at(mr, MemoryRegion))
