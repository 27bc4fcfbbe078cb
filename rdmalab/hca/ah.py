"""Address handles, and what makes an address: a GRH on RoCE, a LID on InfiniBand."""

import dataclasses
from dataclasses import replace

from rdmalab.command import FieldGroup, Noun, Refused, Thing
from rdmalab.hca.adapter import Adapter
from rdmalab.hca.attributes import AhAttr, Fields
from rdmalab.hca.errors import refused
from rdmalab.hca.objects import Objects
from rdmalab.hca.port import gid_at
from rdmalab.spec.addresses import ADDRESS
from rdmalab.wire.packet import MAPPED, MULTICAST_LID, Flow, LidFlow, gid_text, is_multicast, mac_of

_IPV4 = 0xFFFF
ROUTE_HOP_LIMIT = 64
_SL, _FLOW_LABEL = ADDRESS["sl"].last, ADDRESS["flow_label"].last  # as wide as their fields


def judge(hca: Adapter, av: AhAttr, port: int, judged: frozenset[str]) -> Refused | None:
    """The reason this is not a legal address; None if it is. R10, R16 and `ibv_create_ah`.

    judged: the fields whose range this device checks in this call.
    """
    profile = hca.profile
    if av.port_num != port:
        legal = f"port_num={port}"
        return refused(profile, "ah-port", av.port_num, argument="ah_attr", legal=legal)
    if hca.lids:
        refusal = _judge_lid(hca, av) or (_judge_sgid(hca, av) if av.is_global else None)
        return refusal or _judge_ranges(hca, av, judged)
    if not av.is_global:
        legal = "is_global=1 dgid=… sgid_index=…"
        if av.dlid:
            legal += f"; dlid alone is an address after port {hca.node} link_layer=InfiniBand"
        return refused(profile, "ah-global", argument="ah_attr", legal=legal)
    return _judge_sgid(hca, av) or _judge_dgid(hca, av) or _judge_ranges(hca, av, judged)


def _judge_ranges(hca: Adapter, av: AhAttr, judged: frozenset[str]) -> Refused | None:
    for name, row in ADDRESS.items():
        value = getattr(av, name)
        if name in judged and not row.has(value):
            legal = f"{name} takes {row.takes}"
            return refused(hca.profile, "ah-range", name, value, argument="ah_attr", legal=legal)
    return None


def _judge_lid(hca: Adapter, av: AhAttr) -> Refused | None:
    """IBA 4.1.3: which LIDs are those of one port."""
    profile = hca.profile
    legal = f"dlid=1..{MULTICAST_LID - 1:#x}"
    if av.dlid >= MULTICAST_LID:
        return refused(profile, "ah-mlid", hex(av.dlid), argument="ah_attr", legal=legal)
    if not av.dlid:
        return refused(profile, "ah-dlid", argument="ah_attr", legal=legal)
    return None


def _judge_sgid(hca: Adapter, av: AhAttr) -> Refused | None:
    profile, gids = hca.profile, hca.gids
    held = " ".join(str(index) for index, gid in enumerate(gids) if gid)
    legal = f"entries that hold addresses: {held}"
    if not 0 <= av.sgid_index <= profile.caps.max_sgid_index:
        return refused(profile, "ah-sgid-index", av.sgid_index, argument="ah_attr", legal=legal)
    if av.sgid_index >= len(gids) or not gids[av.sgid_index]:
        return refused(profile, "ah-sgid-empty", av.sgid_index, argument="ah_attr", legal=legal)
    return None


def _judge_dgid(hca: Adapter, av: AhAttr) -> Refused | None:
    profile, gids = hca.profile, hca.gids
    if av.dgid == 0 or (av.dgid >> 32 == _IPV4) != (gids[av.sgid_index] >> 32 == _IPV4):
        own, needs = gid_text(gids[av.sgid_index]), "IPv4-mapped needs sgid_index=1, IPv6 0"
        legal = f"sgid_index={av.sgid_index} is {own}; a dgid that is {needs}"
        return refused(profile, "ah-dgid", gid_text(av.dgid), argument="ah_attr", legal=legal)
    if profile.resolves_addresses and not (is_multicast(av.dgid) or hca.network.has(av.dgid)):
        legal = "the address of an existing node"
        return refused(profile, "ah-neighbour", gid_text(av.dgid), argument="ah_attr", legal=legal)
    return None


def routed(hca: Adapter, av: AhAttr, of: str) -> AhAttr:
    """The address as the kernel stores it. of: `qp` or `ah`.

    Source: drivers/infiniband/core/verbs.c, ib_resolve_unicast_gid_dmac; groups have no route.
    """
    if hca.lids or is_group(av) or of not in hca.profile.routed_hop_limits:
        return av
    return replace(av, hop_limit=ROUTE_HOP_LIMIT)


def flow_to(hca: Adapter, av: AhAttr, sport: int) -> Flow:
    """The flow of all packets to an address; a flow label of its own chooses its own port."""
    if hca.lids:
        return _lid_flow(hca, av)
    if av.flow_label and not hca.profile.hashes_source_port:
        sport = source_port(av.flow_label)
    return Flow(
        hca.gids[av.sgid_index], av.dgid, sport, av.hop_limit, av.traffic_class, av.flow_label,
        hca.mac, mac_of(av.dgid),
    )  # fmt: skip


def _lid_flow(hca: Adapter, av: AhAttr) -> LidFlow:
    """From the LID that src_path_bits choose; as many of them count as the LMC says."""
    slid = hca.lids[av.src_path_bits % len(hca.lids)]
    if not av.is_global:
        return LidFlow(slid, av.dlid, sl=av.sl & _SL)
    return LidFlow(
        slid, av.dlid, 0, av.hop_limit, av.traffic_class, av.flow_label & _FLOW_LABEL,
        sl=av.sl & _SL, sgid=hca.gids[av.sgid_index], dgid=av.dgid,
    )  # fmt: skip


def has_source(hca: Adapter, av: AhAttr) -> bool:
    """True if its entry of the GID table still holds an address; without a GRH it needs none."""
    return gid_at(hca, av.sgid_index) != 0 or bool(hca.lids and not av.is_global)


def is_group(av: AhAttr) -> bool:
    """True if it is a multicast address: IPv6 ff::/8, IPv4 224.0.0.0/4."""
    return is_multicast(av.dgid)


def flow_label(local_qpn: int, remote_qpn: int) -> int:
    """Derived from the two QP numbers, so that both ends send from one port (verbs.h)."""
    value = local_qpn * remote_qpn
    value ^= value >> 20
    value ^= value >> 40
    return value & 0xFFFFF


def source_port(label: int) -> int:
    """`ibv_flow_label_to_udp_sport`."""
    return 0xC000 | (label & 0x3FFF) ^ (label >> 14 & 0x3FFF)


def lone_source_port(qpn: int) -> int:
    """The port of a QP without a peer: its number, hashed as the kernel's `hash_32` does."""
    # rxe_qp_init_req: one port a QP keeps its packets in order; the hash spreads QPs over a NIC.
    return 0xC000 + (qpn * 0x61C88647 % 2**32 >> 18)


# --------------------------------------------------------------------------- of a node
def ah_attr_of(hca: Adapter) -> AhAttr:
    """The address by which a peer reaches this node: by its base LID, or over RoCEv2 and IPv4.

    The fields of a GRH are filled in; a packet has one if the program adds is_global=1.
    """
    if hca.lids:
        return AhAttr(dlid=hca.lids[0], dgid=hca.gids[0], hop_limit=ROUTE_HOP_LIMIT, port_num=1)
    gid = next((gid for gid in hca.gids if gid >> 32 == MAPPED), 0)
    return AhAttr(is_global=1, dgid=gid, sgid_index=1, hop_limit=ROUTE_HOP_LIMIT, port_num=1)


def alt_ah_attr_of(hca: Adapter) -> AhAttr:
    """The address of an InfiniBand port on the other path: from LID to LID."""
    return AhAttr(dlid=hca.lids[-1] if hca.lids else 0, src_path_bits=1, port_num=1)


def _ah_attr(world: Objects, node: Thing, _start: int | None, _stop: int | None) -> Fields:
    return {"ah_attr": ah_attr_of(world.find(node, Adapter))}


def _fields_of(world: Objects, node: Thing, _start: int | None, _stop: int | None) -> Fields:
    return dataclasses.asdict(ah_attr_of(world.find(node, Adapter)))


def _alt_ah_attr(world: Objects, node: Thing, _start: int | None, _stop: int | None) -> Fields:
    return {"alt_ah_attr": alt_ah_attr_of(world.find(node, Adapter))}


AH = FieldGroup("ah", Noun.NODE, _ah_attr, ("ah_attr",))
ALT_AH = FieldGroup("alt_ah", Noun.NODE, _alt_ah_attr, ("alt_ah_attr",))
TO_NODE = FieldGroup("to", Noun.NODE, _fields_of, tuple(f.name for f in dataclasses.fields(AhAttr)))
