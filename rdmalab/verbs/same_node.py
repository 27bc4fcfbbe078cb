"""Objects that meet in one call live on one host."""

from rdmalab.command import Thing
from rdmalab.hca.device import Hca
from rdmalab.hca.errors import refused
from rdmalab.world.world import World


def on(world: World, node: str, *things: Thing) -> Hca:
    """The adapter of `node`; Refused if one of the things is another host's."""
    hca = world.nodes[node]
    for thing in things:
        if thing.node != node:
            raise refused(hca.profile, "other-node", f"this {thing.noun}", argument=thing.noun)
    return hca


def number_of(world: World, thing: Thing | None) -> int:
    """The number of a thing that exists, 0 for None. Refused with EFAULT if it is gone."""
    if thing is None:
        return 0
    world.find(thing, object)
    return thing.number
