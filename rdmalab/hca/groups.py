"""Multicast groups: which QPs of this adapter are attached to an address."""

from rdmalab.hca.adapter import Adapter
from rdmalab.hca.errors import refused
from rdmalab.hca.port import ETHERNET
from rdmalab.hca.qp import QueuePair
from rdmalab.spec.records import Kind
from rdmalab.spec.states import QPType
from rdmalab.wire.packet import gid_text, is_multicast

_JOINS = frozenset({QPType.UD})  # ibv_attach_mcast(3); RAW_PACKET hears groups through flow rules


def attach(hca: Adapter, qp: QueuePair, gid: int) -> None:
    """`ibv_attach_mcast`; a second call for the same address changes nothing."""
    profile, caps = hca.profile, hca.profile.caps
    if hca.lids:
        raise refused(profile, "mcast-lid", argument="gid", legal=f"port {hca.node} {ETHERNET}")
    if qp.qp_type not in _JOINS:
        raise refused(profile, "mcast-type", qp.qp_type.name, argument="qp")
    if not is_multicast(gid):
        legal = "gid=224.0.0.9 or ff0e::9"
        raise refused(profile, "mcast-gid", gid_text(gid), argument="gid", legal=legal)
    members = hca.groups.get(gid, [])
    # ib_uverbs_attach_mcast: success for an address that is in the list of the QP.
    if qp.number in members:
        return
    if not members and len(hca.groups) >= caps.max_mcast_grp:
        raise refused(profile, "mcast-limit", f"max_mcast_grp={caps.max_mcast_grp}")
    if sum(map(len, hca.groups.values())) >= caps.max_total_mcast_qp_attach:
        most = f"max_total_mcast_qp_attach={caps.max_total_mcast_qp_attach}"
        raise refused(profile, "mcast-limit", most)
    if len(members) >= caps.max_mcast_qp_attach:
        raise refused(profile, "mcast-limit", f"max_mcast_qp_attach={caps.max_mcast_qp_attach}")
    hca.groups[gid] = [*members, qp.number]
    hca.trace.record(Kind.GROUP_JOINED, hca.node, qp.number, gid)


def detach(hca: Adapter, qp: QueuePair, gid: int) -> None:
    """`ibv_detach_mcast`."""
    members = hca.groups.get(gid, [])
    if qp.number not in members:
        raise refused(hca.profile, "mcast-member", gid_text(gid), argument="gid")
    if len(members) == 1:
        del hca.groups[gid]
    else:
        hca.groups[gid] = [number for number in members if number != qp.number]
    hca.trace.record(Kind.GROUP_LEFT, hca.node, qp.number, gid)


def groups_of(hca: Adapter, qp: QueuePair) -> list[int]:
    """The addresses that the QP is attached to."""
    return [gid for gid, members in hca.groups.items() if qp.number in members]
