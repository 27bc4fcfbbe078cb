"""The port of an adapter: its address and partition tables, its counters, the speed of its link."""

from rdmalab.hca.adapter import Adapter
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.limits import COUNTER_MAX, PHYS_STATES, LinkLayer, PhysState, PortState
from rdmalab.spec.records import Kind
from rdmalab.wire.packet import LINK_LOCAL, mapped_gid

PORT = 1  # the only one
FULL_MEMBER, PARTITION = 0x8000, 0x7FFF  # of a P_Key
LMC = 1  # of an InfiniBand port: it has 2**LMC LIDs, one for each path
SM_LID = 1  # of the subnet manager
ETHERNET = "link_layer=Ethernet"  # to be typed after `port A`, where a verb needs such a port


def share_partition(theirs: int, ours: int) -> bool:
    """True if both have the same partition, and at least one is a full member (IBA 10.9.3)."""
    # Two limited members never talk, also in one partition.
    same = theirs & PARTITION == ours & PARTITION != 0
    return same and (theirs | ours) & FULL_MEMBER != 0


def link_layer(hca: Adapter) -> LinkLayer:
    """Only an InfiniBand port has LIDs."""
    return LinkLayer.INFINIBAND if hca.lids else LinkLayer.ETHERNET


def offers(hca: Adapter, layer: LinkLayer) -> bool:
    """True if this device has such ports."""
    return layer in hca.profile.link_layers


def lmc(hca: Adapter) -> int:
    """Number of low bits of a LID that choose the path."""
    return LMC if hca.lids else 0


def set_link_layer(hca: Adapter, layer: LinkLayer) -> None:
    """Give the port the addresses of this link layer, and no others.

    RoCE: a link-local GID and an IPv4 one. InfiniBand: LIDs, and a GID from the port's GUID.
    """
    if layer is LinkLayer.INFINIBAND:
        first = hca.host << LMC
        hca.lids = tuple(range(first, first + (1 << LMC)))
        hca.gids = [LINK_LOCAL | guid(hca)]
    else:
        hca.lids = ()
        hca.gids = [LINK_LOCAL | hca.mac, mapped_gid(hca.mac & 0xFFFF_FFFF)]
    hca.trace.record(Kind.LINK_LAYER_SET, hca.node, PORT, layer)


def guid(hca: Adapter) -> int:
    """The EUI-64 of the port: its MAC with ff:fe in the middle."""
    return hca.mac >> 24 << 40 | 0xFFFE << 24 | hca.mac & 0xFF_FFFF


def gid_at(hca: Adapter, index: int) -> int:
    """An entry of the GID table; 0 where it is empty."""
    return hca.gids[index] if index < len(hca.gids) else 0


def free_gid_index(hca: Adapter) -> int | None:
    """The first empty entry; None if the table is full."""
    entries = range(hca.profile.caps.gid_tbl_len)
    return next((index for index in entries if not gid_at(hca, index)), None)


def set_gid(hca: Adapter, index: int, gid: int) -> None:
    """Set or remove (gid 0) an address. QPs keep the address they were connected with.

    Packets for a removed address are dropped; a QP that still sends from it gets no answers.
    """
    hca.gids.extend([0] * (index + 1 - len(hca.gids)))
    hca.gids[index] = gid
    hca.trace.record(Kind.GID_SET, hca.node, PORT, index, gid)
    hca.raise_event(AsyncEvent.GID_CHANGE, PORT)


def has_fixed_pkeys(hca: Adapter) -> bool:
    """True if no manager can change the P_Key table of this device."""
    return hca.profile.fixed_pkeys


def set_pkey(hca: Adapter, index: int, pkey: int) -> None:
    """Set the P_Key at `index`; QPs that use the entry are in the new partition at once."""
    hca.pkeys[index] = pkey
    hca.trace.record(Kind.PKEY_SET, hca.node, PORT, index, pkey)
    for qp in hca.qps.items.values():
        if qp.path is not None and qp.attr.pkey_index == index:
            qp.path.pkey = pkey
        if qp.alternate is not None and qp.attr.alt_pkey_index == index:
            qp.alternate.pkey = pkey
    hca.raise_event(AsyncEvent.PKEY_CHANGE, PORT)


def bad_pkey_cntr(hca: Adapter) -> int:
    """Packets dropped for their P_Key."""
    return min(hca.drops.get("pkey", 0), COUNTER_MAX)


def qkey_viol_cntr(hca: Adapter) -> int:
    """Datagrams dropped for their Q_Key."""
    return min(hca.drops.get("qkey", 0), COUNTER_MAX)


def set_state(hca: Adapter, state: PortState) -> None:
    """Set the port state; entering or leaving ACTIVE raises an event.

    Only ACTIVE moves packets.
    """
    before = hca.port_state
    if state is before or hca.unavailable_rule:
        return
    hca.port_state = state
    hca.trace.record(Kind.PORT_CHANGED, hca.node, PORT, state)
    # PORT_ACTIVE and PORT_ERR tell of ACTIVE alone, entered or left.
    if PortState.ACTIVE in (before, state):
        left = before is PortState.ACTIVE
        hca.raise_event(AsyncEvent.PORT_ERR if left else AsyncEvent.PORT_ACTIVE, PORT)


def speed_changed(hca: Adapter) -> None:
    """The link runs at another rate."""
    if hca.profile.raises_speed_event and not hca.unavailable_rule:
        hca.raise_event(AsyncEvent.DEVICE_SPEED_CHANGE, PORT)


def phys_state(hca: Adapter) -> PhysState:
    """The physical state of the link; without a carrier that which the driver reports."""
    down = hca.port_state is PortState.DOWN
    return hca.profile.down_phys_state if down else PHYS_STATES[hca.port_state]
