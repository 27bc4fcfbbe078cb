"""Flow rules: which arriving frames a RAW_PACKET queue pair gets."""

from rdmalab.command import VERB, Noun, Thing, command
from rdmalab.hca import objects, steering
from rdmalab.hca.objects import FlowAttr, FlowSpec
from rdmalab.hca.qp import QueuePair
from rdmalab.verbs.nouns import Flow, NewFlow, Qp
from rdmalab.verbs.same_node import on
from rdmalab.world.world import World


@command(VERB)
def create_flow(
    world: World,
    flow: NewFlow,
    *,
    qp: Qp,
    attr: FlowAttr | None = None,
    spec: FlowSpec | None = None,
) -> Thing:
    """Let a RAW_PACKET queue pair receive the frames that fit a rule.

    type=NORMAL (the default): those that say all that is given here; priority=0 is asked before
    priority=1, and flags=DONT_TRAP lets a frame go on to later rules. MC_DEFAULT: multicast that
    no rule took; ALL_DEFAULT: anything no rule took; SNIFFER: a copy of whatever arrives.
    dst_mac=B stands for the address of node B. EINVAL: another type of queue pair, fields without
    NORMAL. ENXIO: the device has no MANAGED_FLOW_STEERING. EPERM without CAP_NET_RAW.
    EOPNOTSUPP: the port is InfiniBand.

    Example: create_flow B.flow0 qp=B.qp1 dst_mac=B ether_type=0x800
    See: ibv_create_flow(3)
    """
    hca = on(world, flow.node, qp)
    made = steering.create(hca, world.find(qp, QueuePair), attr or FlowAttr(), spec or FlowSpec())
    return Thing(Noun.FLOW, flow.node, made.number)


@command(VERB)
def destroy_flow(world: World, flow: Flow) -> None:
    """Remove a flow rule; its frames go where other rules lead them, or are dropped.

    Example: destroy_flow B.flow0
    See: ibv_create_flow(3)
    """
    steering.destroy(*world.at(flow, objects.Flow))
