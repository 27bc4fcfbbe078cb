"""Relations between objects: peers, nodes of addresses, objects that exist."""

from collections.abc import Iterator

from rdmalab.command import Noun, Thing
from rdmalab.hca.attributes import AhAttr
from rdmalab.hca.qp import QueuePair
from rdmalab.world.world import World

DESTROYERS = {
    Noun.QP: "destroy_qp", Noun.FLOW: "destroy_flow", Noun.AH: "destroy_ah", Noun.MW: "dealloc_mw",
    Noun.SRQ: "destroy_srq", Noun.MR: "dereg_mr", Noun.CQ: "destroy_cq",
    Noun.CHANNEL: "destroy_comp_channel", Noun.XRCD: "close_xrcd", Noun.PD: "dealloc_pd",
    Noun.TD: "dealloc_td",
}  # fmt: skip
"""The verb that ends each kind of object, in the order of the kernel when a process ends."""

_USERS: dict[Noun, dict[Noun, tuple[str, ...]]] = {
    Noun.QP: {
        Noun.PD: ("pd", "domain"),
        Noun.CQ: ("send_cq", "recv_cq"),
        Noun.SRQ: ("srq",),
        Noun.XRCD: ("xrcd",),
    },
    Noun.SRQ: {Noun.PD: ("pd",), Noun.CQ: ("cq",), Noun.XRCD: ("xrcd",)},
    Noun.CQ: {Noun.CHANNEL: ("channel",)},
    Noun.FLOW: {Noun.QP: ("qp",)},
    Noun.MW: {Noun.PD: ("pd",)},
    Noun.MR: {Noun.PD: ("pd",)},
    Noun.AH: {Noun.PD: ("pd",)},
    Noun.PD: {Noun.PD: ("base",), Noun.TD: ("td",)},
}
"""The users of each kind, and their fields by what they use."""


def exists(world: World, thing: Thing) -> bool:
    """True if the thing has not been destroyed."""
    hca = world.nodes.get(thing.node)
    if hca is None or thing.noun is Noun.NODE:
        return hca is not None
    return thing.number in hca.tables[thing.noun].items


def users_of(world: World, thing: Thing) -> Iterator[tuple[Thing, str]]:
    """The objects that keep a thing from being destroyed, each with the verb that ends it.

    A memory region is used by the windows that are bound to it.
    """
    tables = world.nodes[thing.node].tables
    for noun, fields in _USERS.items():
        for item in tables[noun].items.values():
            named = [getattr(item, field) for field in fields.get(thing.noun, ())]
            if (noun, item.number) != (thing.noun, thing.number) and thing.number in named:
                yield Thing(noun, thing.node, item.number), DESTROYERS[noun]
    for window in tables[Noun.MW].items.values() if thing.noun is Noun.MR else ():
        if window.binding is not None and window.binding.mr == thing.number:
            yield Thing(Noun.MW, thing.node, window.number), DESTROYERS[Noun.MW]


def used_by(world: World, thing: Thing) -> Iterator[Thing]:
    """The objects that a thing uses, of its node: its protection domain, queues, channel."""
    item = world.nodes[thing.node].tables[thing.noun].items[thing.number]
    for noun, names in _USERS.get(thing.noun, {}).items():
        for number in {getattr(item, name) for name in names} - {0, None}:
            yield Thing(noun, thing.node, number)


def find_qp(world: World, node: str, number: int) -> QueuePair | None:
    """The queue pair of this number; None if it does not exist."""
    hca = world.nodes.get(node)
    return hca.qps.items.get(number) if hca is not None else None


def peer_node(world: World, qp: QueuePair) -> str:
    """The node that the path of a queue pair leads to; empty without a path, or if none has it."""
    return world.network.target_of(qp.path.flow) if qp.path is not None else ""


def peer_thing(world: World, qp: QueuePair) -> Thing | None:
    """The node and number that a connected queue pair sends to, whether such a queue pair exists.

    None without a path, and for datagrams. The node is empty if no node has the address.
    """
    if qp.path is None or not qp.transport.connected:
        return None
    return Thing(Noun.QP, peer_node(world, qp), qp.path.dest_qpn)


def peer_of(world: World, qp: QueuePair) -> QueuePair | None:
    """The queue pair that a connected one sends to; None if there is none."""
    thing = peer_thing(world, qp)
    return find_qp(world, thing.node, thing.number) if thing is not None else None


def partner_of(world: World, qp: QueuePair) -> QueuePair | None:
    """The peer; for a connected queue pair without a path, the one whose path names it."""
    if qp.path is not None or not qp.transport.connected:
        return peer_of(world, qp)
    others = [other for hca in world.nodes.values() for other in hca.qps.items.values()]
    return next((other for other in others if peer_of(world, other) is qp), None)


def node_at(world: World, node: str, attr: AhAttr) -> str:
    """The node that an address leads to: by LID from an InfiniBand port, by GID on RoCE."""
    if world.nodes[node].lids:
        return world.network.node_of_lid.get(attr.dlid, "")
    return node_of_address(world, attr.dgid)


def node_of_address(world: World, gid: int) -> str:
    """The node that this address on RoCE belongs to, or did; empty if it is no node's."""
    return world.network.node_of_gid.get(gid, "")


def removed_addresses(world: World) -> dict[int, str]:
    """The GIDs that no node has now, each with the node that had it, in the order of their use."""
    return {gid: node for gid, node in world.network.node_of_gid.items()
            if not world.network.owner_of(gid)}  # fmt: skip
