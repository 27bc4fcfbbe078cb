"""Flow rules: which frames go to which queue pair."""

from dataclasses import dataclass
from typing import Annotated

from rdmalab.command import Noun, Thing
from rdmalab.hca.objects import Flow
from rdmalab.hca.steering import spelled_field
from rdmalab.session.names import Names
from rdmalab.spec.flows import FlowType
from rdmalab.views import fmt
from rdmalab.views.columns import describe_fields
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
