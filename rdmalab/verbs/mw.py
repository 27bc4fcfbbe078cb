"""Memory windows."""

from typing import Annotated

from rdmalab.command import VERB, Alias, Noun, Thing, command
from rdmalab.hca import bind, lifecycle
from rdmalab.hca.bind import MwBind
from rdmalab.hca.objects import MemoryWindow, ProtectionDomain
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.wr import BIND
from rdmalab.spec.access import MWType
from rdmalab.verbs.nouns import Mw, NewMw, Pd, Qp
from rdmalab.verbs.same_node import on
from rdmalab.world.world import World


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
