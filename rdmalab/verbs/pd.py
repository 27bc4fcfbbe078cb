"""Protection domains, thread domains, parent domains."""

from rdmalab.command import VERB, Noun, Thing, command
from rdmalab.hca import lifecycle
from rdmalab.hca.objects import ProtectionDomain, ThreadDomain
from rdmalab.verbs.nouns import NewPd, NewTd, Pd, Td, on
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


# --------------------------------------------------------------------------- thread domains
@command(VERB)
def alloc_td(world: World, td: NewTd) -> Thing:
    """Allocate a thread domain: a promise that one thread alone uses what is made in it.

    The driver then leaves out its locks. It reaches queue pairs through a parent domain.

    Example: alloc_td A.td0
    See: ibv_alloc_td(3); help alloc_parent_domain
    """
    made = lifecycle.alloc_td(world.nodes[td.node])
    return Thing(Noun.TD, td.node, made.number)


@command(VERB)
def dealloc_td(world: World, td: Td) -> None:
    """Free a thread domain.

    EBUSY while a parent domain holds it.

    Example: dealloc_td A.td0
    See: ibv_alloc_td(3)
    """
    lifecycle.dealloc_td(*world.at(td, ThreadDomain))


@command(VERB)
def alloc_parent_domain(world: World, parent: NewPd, *, pd: Pd, td: Td | None = None) -> Thing:
    """Allocate a parent domain: it protects as `pd` does, and queue pairs in it obey `td`.

    It is written wherever a protection domain is. With a thread domain, queue pairs made in it
    take no lock. dealloc_pd frees it. ENOMEM beyond max_pd.

    Example: alloc_parent_domain A.pd1 pd=A.pd0
    See: ibv_alloc_parent_domain(3); help alloc_td
    """
    hca = on(world, parent.node, pd, *([td] if td else []))
    thread = world.find(td, ThreadDomain) if td else None
    made = lifecycle.alloc_parent_domain(hca, world.find(pd, ProtectionDomain), thread)
    return Thing(Noun.PD, parent.node, made.number)
