"""Address handles: where datagrams go."""

from dataclasses import dataclass
from typing import Annotated

from rdmalab.command import Noun, Thing
from rdmalab.hca.ah import is_group
from rdmalab.hca.objects import AddressHandle, Flow
from rdmalab.hca.steering import spelled_field
from rdmalab.session.names import Names
from rdmalab.spec.flows import FlowType
from rdmalab.views import fmt
from rdmalab.views.columns import describe_fields
from rdmalab.wire.packet import gid_text
from rdmalab.world.relations import node_at
from rdmalab.world.world import World


@dataclass(slots=True)
class FlowRow:
    """A flow rule."""

    name: Annotated[str, "its name"]
    node: Annotated[str, "whose it is"]
    qp: Annotated[str, "the queue pair that gets the frames"]
    type: Annotated[FlowType, "NORMAL, ALL_DEFAULT, MC_DEFAULT or SNIFFER"]
    priority: Annotated[int, "priority of the rule, 0 is the highest"]
    fits: Annotated[str, "what a frame must contain: `dst_mac=02:00:0a:00:00:02 dst_port=80`"]


describe_fields(FlowRow, "qp", "type", "priority", "fits", form=fmt.value)


def flow_row(world: World, names: Names, thing: Thing) -> FlowRow:
    """One flow rule."""
    flow = world.find(thing, Flow)
    qp = names.of(Thing(Noun.QP, thing.node, flow.qp))
    fits = " ".join(f"{name}={spelled_field(name, value)}" for name, value in flow.spec.items())
    attr = flow.attr
    return FlowRow(names.of(thing), thing.node, qp, attr.type, attr.priority, fits)


@dataclass(slots=True)
class AhRow:
    """An address handle."""

    name: Annotated[str, "its name"]
    node: Annotated[str, "whose it is"]
    to: Annotated[str, "the node it leads to, `group` for many"]
    dgid: Annotated[str, "the address packets go to"]
    dlid: Annotated[int, "the LID packets go to, of an InfiniBand port; 0 on RoCE"]
    sgid_index: Annotated[int, "which of the local addresses they come from"]
    hop_limit: Annotated[int, "routers they may pass"]
    pd: Annotated[str, "its protection domain"]


describe_fields(AhRow, "to", "dgid", "dlid", "sgid_index", "hop_limit", "pd", form=fmt.value)


def ah_row(world: World, names: Names, thing: Thing) -> AhRow:
    """One address handle."""
    ah = world.find(thing, AddressHandle)
    attr, dgid = ah.attr, gid_text(ah.attr.dgid)
    to = "group" if is_group(attr) else node_at(world, thing.node, attr) or "unknown"
    pd = names.of(Thing(Noun.PD, thing.node, ah.pd))
    route = dgid, attr.dlid, attr.sgid_index, attr.hop_limit
    return AhRow(names.of(thing), thing.node, to, *route, pd)
