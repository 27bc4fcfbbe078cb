"""Address handles and multicast groups: destinations of datagrams, and attached QPs."""

from typing import Annotated

from rdmalab.command import VERB, Noun, Thing, command
from rdmalab.hca import groups, lifecycle
from rdmalab.hca.ah import TO_NODE
from rdmalab.hca.attributes import AhAttr, Gid
from rdmalab.hca.objects import AddressHandle, ProtectionDomain
from rdmalab.hca.qp import QueuePair
from rdmalab.verbs.nouns import Ah, NewAh, Pd, Qp
from rdmalab.verbs.same_node import on
from rdmalab.world.world import World


@command(VERB)
def create_ah(world: World, ah: NewAh, *, pd: Pd, attr: Annotated[AhAttr, TO_NODE]) -> Thing:
    """Create an address handle: where datagrams of this protection domain may go.

    `to=B` stands for the whole address of node B. EINVAL: a wrong port, no GRH (RoCE needs
    is_global=1), sgid_index or dgid that do not fit; in strict also sl beyond 15, flow_label beyond
    20 bits, a static_rate that is no rate. ENODATA: an empty GID table entry.

    Example: create_ah A.ah0 pd=A.pd0 to=B
    See: ibv_create_ah(3)
    """
    made = lifecycle.create_ah(on(world, ah.node, pd), world.find(pd, ProtectionDomain).base, attr)
    return Thing(Noun.AH, ah.node, made.number)


@command(VERB)
def destroy_ah(world: World, ah: Ah) -> None:
    """Destroy an address handle; it never answers EBUSY.

    A work request that still names it fails with LOC_QP_OP_ERR when it is executed.

    Example: destroy_ah A.ah0
    See: ibv_create_ah(3)
    """
    lifecycle.destroy_ah(*world.at(ah, AddressHandle))


@command(VERB)
def attach_mcast(world: World, qp: Qp, *, gid: Gid, lid: int = 0) -> None:
    """Attach a UD queue pair to a multicast group; attached twice is attached once.

    gid: 224.0.0.0/4 or ff00::/8. lid: of no meaning on RoCE. A datagram goes to a group with
    remote_qpn=0xffffff and an address handle of that gid; each attached QP needs a receive.
    EINVAL: no UD queue pair, no multicast address. ENOMEM beyond max_mcast_grp or
    max_mcast_qp_attach. EOPNOTSUPP: the port is InfiniBand.

    Example: attach_mcast B.qp1 gid=224.0.0.9
    See: ibv_attach_mcast(3)
    """
    del lid
    groups.attach(*world.at(qp, QueuePair), gid)


@command(VERB)
def detach_mcast(world: World, qp: Qp, *, gid: Gid, lid: int = 0) -> None:
    """Leave a multicast group.

    EINVAL if the queue pair is not attached to it.

    Example: detach_mcast B.qp1 gid=224.0.0.9
    See: ibv_attach_mcast(3)
    """
    del lid
    groups.detach(*world.at(qp, QueuePair), gid)
