"""Address handles: where datagrams go."""

from dataclasses import dataclass
from typing import Annotated

from rdmalab.command import Noun, Thing
from rdmalab.hca.ah import AddressHandle, is_group
from rdmalab.lens.names import Names
from rdmalab.wire.packet import gid_text
from rdmalab.world.world import World


@dataclass(slots=True)
class AhRow:
    """An address handle."""

    name: Annotated[str, "its name"]
    node: Annotated[str, "whose it is"]
    to: Annotated[str, "the node it leads to, `group` for many"]
    dgid: Annotated[str, "the address packets go to"]
    sgid_index: Annotated[int, "which of the own addresses they come from"]
    hop_limit: Annotated[int, "routers they may pass"]
    pd: Annotated[str, "its protection domain"]


def ah_row(world: World, names: Names, thing: Thing) -> AhRow:
    """One address handle."""
    ah: AddressHandle = world.find(thing)
    to = "group" if is_group(ah.attr) else world.node_of_gid.get(ah.attr.dgid, "nobody")
    dgid, attr = gid_text(ah.attr.dgid), ah.attr
    pd = names.of(Thing(Noun.PD, thing.node, ah.pd))
    return AhRow(names.of(thing), thing.node, to, dgid, attr.sgid_index, attr.hop_limit, pd)
