"""Memory regions and memory windows."""

from typing import Annotated

from rdmalab.command import VERB, Alias, Bytes, Noun, Thing, command
from rdmalab.hca import bind, lifecycle
from rdmalab.hca import mr as memory_regions
from rdmalab.hca.bind import MwBind
from rdmalab.hca.objects import MemoryRegion, MemoryWindow, ProtectionDomain
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.wr import BIND, U64
from rdmalab.spec.access import Access, MWType, Rereg
from rdmalab.verbs.nouns import Mr, Mw, NewMr, NewMw, Pd, Qp, on
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


# --------------------------------------------------------------------------- memory windows
@command(VERB)
def alloc_mw(world: World, mw: NewMw, *, pd: Pd, type: MWType) -> Thing:  # noqa: A002
    """Allocate a memory window; it opens nothing before it is bound.

    TYPE_1 is bound by bind_mw, TYPE_2 by post_send opcode=BIND_MW. EINVAL: another type.

    Example: alloc_mw B.mw0 pd=B.pd0 type=TYPE_2
    See: ibv_alloc_mw(3)
    """
    made = lifecycle.alloc_mw(on(world, mw.node, pd), world.find(pd, ProtectionDomain).number, type)
    return Thing(Noun.MW, mw.node, made.number)


@command(VERB)
def dealloc_mw(world: World, mw: Mw) -> None:
    """Give a memory window back; if it is bound, its rkey is void from now on.

    Example: dealloc_mw B.mw0
    See: ibv_alloc_mw(3)
    """
    lifecycle.dealloc_mw(*world.at(mw, MemoryWindow))


@command(VERB)
def bind_mw(
    world: World, qp: Qp, mw: Mw, *, asked: Annotated[MwBind, BIND, Alias("mw_bind")]
) -> None:
    """Post a bind of a window of type 1: the peer may use these bytes, and no others.

    bind=B.mr0[0:64] names them, bind_access what the peer may do; without a range the window is
    unbound. The window gets a new rkey at once; it works when the bind is executed. EINVAL: type 2,
    or a range without an MR; EPERM: window and MR in different protection domains. All else is
    found later: IBV_WC_MW_BIND_ERR.

    Example: bind_mw B.qp0 B.mw0 bind=B.mr0[0:64] bind_access=REMOTE_WRITE
    See: ibv_bind_mw(3)
    """
    hca, pair = world.at(qp, QueuePair)
    on(world, qp.node, mw)
    bind.bind_mw(hca, pair, world.find(mw, MemoryWindow), asked)
