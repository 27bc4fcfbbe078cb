"""The objects that verbs take and make, as annotations; those of one call live on one host."""

from typing import Annotated

from rdmalab.command import New, Noun, Thing
from rdmalab.hca.device import Hca
from rdmalab.hca.errors import refused
from rdmalab.world.world import World

Pd = Annotated[Thing, Noun.PD]
Mr = Annotated[Thing, Noun.MR]
Cq = Annotated[Thing, Noun.CQ]
Qp = Annotated[Thing, Noun.QP]
Ah = Annotated[Thing, Noun.AH]
Srq = Annotated[Thing, Noun.SRQ]
Xrcd = Annotated[Thing, Noun.XRCD]
Mw = Annotated[Thing, Noun.MW]
Channel = Annotated[Thing, Noun.CHANNEL]
Td = Annotated[Thing, Noun.TD]
Flow = Annotated[Thing, Noun.FLOW]
Program = Annotated[Thing, Noun.PROGRAM]

NewPd = Annotated[New, Noun.PD]
NewMr = Annotated[New, Noun.MR]
NewCq = Annotated[New, Noun.CQ]
NewQp = Annotated[New, Noun.QP]
NewAh = Annotated[New, Noun.AH]
NewSrq = Annotated[New, Noun.SRQ]
NewXrcd = Annotated[New, Noun.XRCD]
NewMw = Annotated[New, Noun.MW]
NewChannel = Annotated[New, Noun.CHANNEL]
NewTd = Annotated[New, Noun.TD]
NewFlow = Annotated[New, Noun.FLOW]
NewProgram = Annotated[New, Noun.PROGRAM]


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
