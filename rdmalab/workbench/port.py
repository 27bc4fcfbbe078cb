"""Commands gid, pkey, port and device_fatal."""

from typing import Annotated, Literal

from rdmalab.command import SCRIPTABLE, Bits, NotUnderstood, Noun, OneOf, Thing, command
from rdmalab.hca import context
from rdmalab.hca import port as ports
from rdmalab.hca.attributes import Gid
from rdmalab.spec.limits import LAYER_OF, LinkLayer, PortState
from rdmalab.wire.packet import gid_text
from rdmalab.world.world import World

Device = Annotated[Thing, Noun.NODE]
LAYERS = OneOf(LAYER_OF)
_STATES = OneOf(state.name for state in PortState if state)


@command(SCRIPTABLE)
def gid(
    world: World,
    what: Literal["add", "del"],
    device: Device,
    address: Gid | None = None,
    *,
    index: int | None = None,
) -> str:
    """Add a GID (address) to a node, or delete one: GID_CHANGE.

    add: into the first empty entry of the GID table, or into `index`. del: the address, or the
    entry at `index`; queue pairs connected with it still send from it, but get no responses.

    Example: gid add A 10.0.0.7
    """
    hca = world.node(device)
    if index is not None and not 0 <= index <= hca.profile.caps.max_sgid_index:
        last = hca.profile.caps.max_sgid_index
        raise NotUnderstood("no such entry", hint=f"index: 0..{last}", argument="index")
    if what == "del":
        return _delete(world, device.node, address, index)
    if not address:
        raise NotUnderstood("the address is missing", hint=f"gid add {device.node} 10.0.0.7")
    if owner := world.network.owner_of(address):
        raise NotUnderstood(f"{owner} already has this address", argument="address")
    entry = ports.free_gid_index(hca) if index is None else index
    if entry is None or ports.gid_at(hca, entry):
        full = "the GID table is full" if entry is None else f"entry {entry} is taken"
        raise NotUnderstood(full, hint=f"gid del {device.node} index=…", argument="index")
    world.network.set_gid(device.node, entry, address)
    return f"{gid_text(address)} is GID {entry} of {device.node}"


def _delete(world: World, node: str, address: int | None, index: int | None) -> str:
    gids = world.nodes[node].gids
    if address:
        index = gids.index(address) if address in gids else None
    if index is None or not ports.gid_at(world.nodes[node], index):
        held = " ".join(f"{n}={gid_text(found)}" for n, found in enumerate(gids) if found)
        raise NotUnderstood(f"{node} has no such address", hint=f"it has: {held}")
    gone = gids[index]
    world.network.set_gid(node, index, 0)
    return f"{gid_text(gone)} was deleted; entry {index} is empty"


@command(SCRIPTABLE)
def pkey(
    world: World, what: Literal["set"], device: Device, index: int, value: Annotated[int, Bits(16)]
) -> str:
    """Set an entry of a node's P_Key table: PKEY_CHANGE.

    The low 15 bits are the partition, bit 15 makes a full member; limited members communicate with
    full ones only. 0 empties the entry. Queue pairs that use the entry use the new value at once;
    packets of another partition are dropped, and counted in bad_pkey_cntr.

    Example: pkey set A 0 0x8001
    """
    del what
    hca = world.node(device)
    if ports.has_fixed_pkeys(hca):
        hint = f"profile {hca.profile.name} has it so; start with --profile strict"
        raise NotUnderstood("the P_Key table of this device cannot be changed", hint=hint)
    if not 0 <= index < len(hca.pkeys):
        hint = f"index: 0..{len(hca.pkeys) - 1} (pkey_tbl_len={len(hca.pkeys)})"
        raise NotUnderstood("the P_Key table has no such entry", hint=hint, argument="index")
    ports.set_pkey(hca, index, value)
    kind = "full" if value & ports.FULL_MEMBER else "limited"
    return f"{kind} member of partition {value & ports.PARTITION:#x}" if value else "empty"


@command(SCRIPTABLE)
def port(
    world: World,
    device: Device,
    state: Annotated[str, _STATES] | None = None,
    *,
    link_layer: Annotated[str, LAYERS] | None = None,
) -> None:
    """Put a node's port into another state, or give it another link layer.

    Only an ACTIVE port sends and receives. A subnet manager moves an InfiniBand port through DOWN,
    INIT, ARMED, ACTIVE; `link down` and `link up` set all ports. Leaving ACTIVE raises PORT_ERR,
    entering it PORT_ACTIVE.
    link_layer=InfiniBand: the port has two LIDs (LMC 1) and no IPv4 address, packets have an LRH
    and a VCRC; link_layer=Ethernet is RoCE again. Choose it for both nodes, before there are queue
    pairs and address handles. Soft-RoCE (profile rxe) has no InfiniBand port.

    Example: port A ARMED
    """
    if state is None and link_layer is None:
        raise NotUnderstood(
            "the state is missing", hint=f"port {device.node} ACTIVE", argument="device"
        )
    hca = world.node(device)
    if hca.unavailable_rule:
        raise NotUnderstood(f"{device.node} has no open device", hint=f"open_device {device.node}")
    if link_layer is not None:
        _choose_layer(world, device.node, LAYER_OF[link_layer])
    if state is not None:
        ports.set_state(hca, PortState[state])


def _choose_layer(world: World, node: str, layer: LinkLayer) -> None:
    hca = world.nodes[node]
    if not ports.offers(hca, layer):
        message = f"profile {hca.profile.name} has no {layer.text} port"
        raise NotUnderstood(message, hint="profile strict or mlx5", argument="link_layer")
    users = {"queue pair": len(hca.qps.items), "address handle": len(hca.ahs.items),
        "flow rule": len(hca.flows.items)}  # fmt: skip
    if any(users.values()) and layer is not ports.link_layer(hca):
        in_use = " and ".join(f"{n} {noun}{'s' * (n > 1)}" for noun, n in users.items() if n)
        raise NotUnderstood(f"the port of {node} is in use by {in_use}",
            hint=f"destroy first what show {node} lists", argument="link_layer")  # fmt: skip
    if layer is not ports.link_layer(hca):
        world.network.set_link_layer(node, layer)


@command(SCRIPTABLE)
def device_fatal(world: World, device: Device) -> None:
    """Make the device of a node fail: DEVICE_FATAL.

    The device stops: no packet, timer, CQE or flush; only the event reports it. CQEs already in
    the CQs can be polled, objects can be destroyed, all other verbs return EIO. close_device and
    open_device start an empty one.

    Example: device_fatal A
    """
    hca = world.node(device)
    if hca.unavailable_rule:
        raise NotUnderstood(f"{device.node} has no open device", hint=f"open_device {device.node}")
    context.fail_device(hca)
