"""The device of a node and its port: opened, asked, closed."""

import dataclasses
from typing import Annotated, Any

from rdmalab.command import VERB, Noun, Thing, command
from rdmalab.hca import context, port
from rdmalab.hca.device import Hca
from rdmalab.hca.errors import check_useful, refused
from rdmalab.spec.completions import WcEx
from rdmalab.spec.limits import ETHERNET_SPEEDS, QUERIED_OTHERWISE, AtomicCap, DeviceCap, PortState
from rdmalab.spec.states import MTU
from rdmalab.wire.packet import gid_text
from rdmalab.world.world import World

Device = Annotated[Thing, Noun.NODE]

Attributes = dict[str, Any]


@command(VERB)
def open_device(world: World, device: Device) -> str:
    """Open the device of a node.

    A node is one process, and its device is open from the beginning: this word is needed after
    close_device only. A device that died of a fatal error comes back reset.

    Example: open_device A
    See: ibv_open_device(3)
    """
    hca = world.node(device)
    if not hca.unavailable_rule:
        return f"{hca.node}'s device is open already, and one context is all a node has"
    if hca.unavailable_rule == context.DEAD:
        check_useful(hca)
    context.reopen(hca, PortState.ACTIVE if world.network.cable.up else PortState.DOWN)
    return f"{hca.node}'s device is open"


@command(VERB)
def close_device(world: World, device: Device) -> str:
    """Close the device of a node: everything left over is freed, and nothing answers EBUSY.

    No packet informs a peer: what it sends is dropped. open_device starts without objects.

    Example: close_device A
    See: ibv_close_device(3)
    """
    context.close(world.node(device))
    return f"{device.node}'s device is closed"


@command(VERB)
def query_device(world: World, device: Device) -> Attributes:
    """Read what the device can do: its limits and capability flags.

    max_inline_data is not among them: no verb returns it, create_qp shows what is granted.

    Example: query_device A
    See: ibv_query_device(3)
    """
    return _device(_useful(world, device))


def _device(hca: Hca) -> Attributes:
    caps = hca.profile.caps
    found: Attributes = {"fw_ver": "rdmalab", "node_guid": f"{port.guid(hca):#018x}"}
    names = [f.name for f in dataclasses.fields(caps) if f.name not in QUERIED_OTHERWISE]
    found |= {name: getattr(caps, name) for name in names}
    migrates = DeviceCap.AUTO_PATH_MIG if hca.lids else DeviceCap(0)
    found["device_cap_flags"] = DeviceCap(caps.device_cap_flags) | migrates
    found["atomic_cap"] = AtomicCap(caps.atomic_cap)
    return found


_ALL_BITS = 2**64 - 1
_NS_CLOCK_KHZ = 1_000_000  # the device stamps in nanoseconds

# What query_device_ex knows more, and a device of the lab does not have.
_EXTENDED: Attributes = {
    "odp_general_caps": 0,
    "max_rwq_indirection_tables": 0,
    "max_wq_type_rq": 0,
    "raw_packet_caps": 0,
    "max_num_tags": 0,
    "max_cq_count": 0,
    "qp_rate_limit_max": 0,
    "max_dm_size": 0,
}


@command(VERB)
def query_device_ex(world: World, device: Device, *, comp_mask: int = 0) -> Attributes:
    """Read what query_device returns, and the newer capabilities.

    A 0 there means that the device has no such thing. EINVAL: a comp_mask other than 0.

    Example: query_device_ex A
    See: ibv_query_device_ex(3)
    """
    hca = _useful(world, device)
    if comp_mask:
        bits = hex(comp_mask)
        raise refused(hca.profile, "device-comp-mask", bits, argument="comp_mask", legal="0")
    caps = hca.profile.caps
    stamps = bool(hca.profile.extended_fields & WcEx.COMPLETION_TIMESTAMP)
    found = {**_device(hca), **_EXTENDED, "phys_port_cnt_ex": caps.phys_port_cnt}
    found |= {"max_tso": caps.max_tso, "device_cap_flags_ex": found["device_cap_flags"]}
    return found | {
        "completion_timestamp_mask": _ALL_BITS if stamps else 0,
        "hca_core_clock": _NS_CLOCK_KHZ if stamps else 0,
    }


@command(VERB)
def query_port(world: World, device: Device, *, port_num: int = port.PORT) -> Attributes:
    """Read the state of a port, its limits and its counters.

    An InfiniBand port has lid and lmc, a RoCE port has 0 there: it has 2**lmc LIDs from lid on.
    bad_pkey_cntr and qkey_viol_cntr count what was dropped and stay at 65535. EINVAL: port 0, or
    one beyond phys_port_cnt.

    Example: query_port A
    See: ibv_query_port(3)
    """
    hca = _at_port(world, device, port_num)
    caps = hca.profile.caps
    width, speed = _speed(world.network.cable.rate_bps)
    return {
        "state": hca.port_state, "max_mtu": MTU(caps.max_mtu.bit_length() - 8),
        "active_mtu": MTU(caps.max_path_mtu), "gid_tbl_len": caps.gid_tbl_len, "port_cap_flags": 0,
        "max_msg_sz": caps.max_msg_sz, "bad_pkey_cntr": port.bad_pkey_cntr(hca),
        "qkey_viol_cntr": port.qkey_viol_cntr(hca), "pkey_tbl_len": caps.pkey_tbl_len,
        "lid": hca.lids[0] if hca.lids else 0, "sm_lid": port.SM_LID if hca.lids else 0,
        "lmc": port.lmc(hca), "active_width": width, "active_speed": speed,
        "phys_state": port.phys_state(hca), "link_layer": port.link_layer(hca),
    }  # fmt: skip


def _speed(rate_bps: int) -> tuple[int, int]:
    return next((w, s) for most, w, s in ETHERNET_SPEEDS if most is None or rate_bps <= most)


@command(VERB)
def query_gid(world: World, device: Device, *, port_num: int = port.PORT, index: int) -> Attributes:
    """Read an entry of the GID table; an empty one reads as zeros.

    EINVAL: an index outside the table, a port that does not exist.

    Example: query_gid A index=1
    See: ibv_query_gid(3)
    """
    hca = _at_port(world, device, port_num)
    return {"gid": gid_text(_gid(hca, index))}


@command(VERB)
def query_gid_ex(
    world: World, device: Device, *, port_num: int = port.PORT, index: int
) -> Attributes:
    """Read an entry of the GID table and its type.

    ENODATA: the entry is empty. EINVAL: an index outside the table, a port that does not exist.

    Example: query_gid_ex A index=1
    See: ibv_query_gid_ex(3)
    """
    hca = _at_port(world, device, port_num)
    gid = _gid(hca, index)
    if not gid:
        raise refused(hca.profile, "gid-empty", index, argument="index")
    gid_type = "IB" if hca.lids else "RoCE v2"
    return {"gid": gid_text(gid), "gid_index": index, "port_num": port_num, "gid_type": gid_type}


def _gid(hca: Hca, index: int) -> int:
    last = hca.profile.caps.max_sgid_index
    if not 0 <= index <= last:
        raise refused(hca.profile, "gid-index", index, argument="index", legal=f"index=0..{last}")
    return port.gid_at(hca, index)


@command(VERB)
def query_pkey(
    world: World, device: Device, *, port_num: int = port.PORT, index: int
) -> Attributes:
    """Read an entry of the P_Key table: the partition, and in bit 15 whether as a full member.

    C programs get it in network order; here it is as it is read. 0 is an empty entry. EINVAL: an
    index outside the table, a port that does not exist.

    Example: query_pkey A index=0
    See: ibv_query_pkey(3)
    """
    hca = _at_port(world, device, port_num)
    last = hca.profile.caps.max_pkey_index
    if not 0 <= index <= last:
        raise refused(hca.profile, "pkey-index", index, argument="index", legal=f"index=0..{last}")
    return {"pkey": f"{hca.pkeys[index]:#06x}"}


def _useful(world: World, device: Thing) -> Hca:
    hca = world.node(device)
    check_useful(hca)
    return hca


def _at_port(world: World, device: Thing, port_num: int) -> Hca:
    hca = _useful(world, device)
    if not 1 <= port_num <= hca.profile.caps.phys_port_cnt:
        legal = f"port_num=1..{hca.profile.caps.phys_port_cnt}"
        raise refused(hca.profile, "port-num", port_num, argument="port_num", legal=legal)
    return hca
