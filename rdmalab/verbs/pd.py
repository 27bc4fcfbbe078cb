"""Protection domains."""

from rdmalab.command import VERB, Noun, Thing, command
from rdmalab.hca import lifecycle
from rdmalab.hca.objects import ProtectionDomain
from rdmalab.verbs.nouns import NewPd, Pd
from rdmalab.world.world import World


@command(VERB)
def alloc_pd(world: World, pd: NewPd) -> Thing:
    """Allocate a protection domain.

    QPs and memory regions work together only inside one. ENOMEM beyond max_pd.

    Example: alloc_pd A.pd1
    See: ibv_alloc_pd(3)
    """
    made = lifecycle.alloc_pd(world.nodes[pd.node])
    return Thing(Noun.PD, pd.node, made.number)


@command(VERB)
def dealloc_pd(world: World, pd: Pd) -> None:
    """Free a protection domain.

    EBUSY while a memory region or queue pair is in it.

    Example: dealloc_pd A.pd0
    See: ibv_alloc_pd(3)
    """
    lifecycle.dealloc_pd(*world.at(pd, ProtectionDomain))
