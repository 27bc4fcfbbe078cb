"""Queue pairs, and what leads packets to them: address handles, multicast groups, flow rules."""

import copy
from dataclasses import field, replace
from typing import Annotated, Any

from rdmalab.command import VERB, Bits, Noun, Thing, command
from rdmalab.hca import groups, lifecycle, modify, objects, qp_lifecycle, steering
from rdmalab.hca.ah import AH, ALT_AH, TO_NODE
from rdmalab.hca.attributes import FIELDS, AhAttr, Capacity, Gid, QpAttr
from rdmalab.hca.errors import check_useful
from rdmalab.hca.objects import AddressHandle, FlowAttr, FlowSpec, ProtectionDomain
from rdmalab.hca.qp import QueuePair
from rdmalab.spec.row import dataclass
from rdmalab.spec.states import Attr, QPState, QPType, fields_of
from rdmalab.verbs.nouns import (
    Ah,
    Cq,
    Flow,
    NewAh,
    NewFlow,
    NewQp,
    Pd,
    Qp,
    Srq,
    Xrcd,
    number_of,
    on,
)
from rdmalab.world.world import World


@dataclass(slots=True)
class QpInitAttr:
    """`ibv_qp_init_attr`."""

    C_NAME = "ibv_qp_init_attr"

    qp_type: QPType
    send_cq: Cq | None = None
    recv_cq: Cq | None = None
    srq: Srq | None = None
    xrcd: Xrcd | None = None
    cap: Capacity = field(default_factory=Capacity)
    sq_sig_all: bool = False
    max_tso_header: Annotated[int, Bits(16)] = 0


@dataclass(slots=True)
class QpAnswer(QpAttr):
    """The two structs of `ibv_query_qp`: the attributes, and those of its creation.

    sq_draining has no bit in attr_mask: it comes with the state. None: the mask left the field out.
    """

    sq_draining: int | None = None
    init_attr: QpInitAttr | None = None


@command(VERB)
def create_qp(world: World, qp: NewQp, *, pd: Pd | None = None, init_attr: QpInitAttr) -> Thing:
    """Create a queue pair; it starts in RESET.

    sq_sig_all=1: every send WR completes visibly, SIGNALED or not. srq: take receives from a shared
    receive queue, permanently; max_recv_wr is ignored then. XRC_SEND needs no recv_cq, XRC_RECV
    nothing but xrcd. max_tso_header=54: it may post TSO with headers of so many bytes (UD and
    RAW_PACKET). EINVAL: a cap beyond the device's limits, an unknown type, a part missing. EPERM:
    RAW_PACKET without CAP_NET_RAW. EOPNOTSUPP: a type the device has not, RAW_PACKET on an
    InfiniBand port. ENOMEM beyond max_qp.

    Example: create_qp A.qp1 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0 max_send_wr=8
    See: ibv_create_qp(3)
    """
    init = init_attr
    parts = (pd, init.send_cq, init.recv_cq, init.srq, init.xrcd)
    hca = on(world, qp.node, *(thing for thing in parts if thing is not None))
    pd_, send_cq, recv_cq, srq, xrcd = (number_of(world, thing) for thing in parts)
    made = qp_lifecycle.create_qp(
        hca, init.qp_type, pd_, send_cq, recv_cq, init.cap,
        sig_all=init.sq_sig_all, srq=srq, xrcd=xrcd, max_tso_header=init.max_tso_header,
    )  # fmt: skip
    return Thing(Noun.QP, qp.node, made.number)


@command(VERB)
def modify_qp(
    world: World, qp: Qp, *, attr: Annotated[QpAttr, AH, ALT_AH], attr_mask: Attr | None = None
) -> None:
    """Move a queue pair to another state, or change its attributes.

    The bring-up is RESET → INIT → RTR → RTS. Each transition has required and optional attributes.
    With any other attribute the call returns EINVAL and changes nothing. `ah=B` stands for the
    whole address of node B. The mask is made of the fields that are given, unless attr_mask says
    otherwise.

    Example: modify_qp A.qp0 state=INIT port_num=1 pkey_index=0 qp_access_flags=REMOTE_WRITE
    See: ibv_modify_qp(3); explain modify_qp; explain modify_qp UD; explain RTR
    """
    modify.modify(*world.at(qp, QueuePair), attr, attr_mask)


@command(VERB)
def query_qp(world: World, qp: Qp, *, attr_mask: Attr | None = None) -> QpAnswer:
    """Read the attributes of a queue pair, its state first, and what it was made of.

    attr_mask=STATE|CAP names the attributes that are read; left out, all are. sq_draining comes
    with STATE. What the queue pair was made of is always read. cap is what the queues really hold,
    whatever create_qp was asked or handed back. libibverbs keeps a copy of the state that a move to
    ERR by the device does not update: asking for STATE updates it.

    Example: query_qp A.qp0 attr_mask=STATE|CAP
    See: ibv_query_qp(3)
    """
    hca, found = world.at(qp, QueuePair)
    pair: QueuePair = found
    check_useful(hca)
    wanted = FIELDS if attr_mask is None else fields_of(attr_mask)
    attr: dict[str, Any] = {name: copy.deepcopy(getattr(pair.attr, name)) for name in wanted}
    now = _now(pair, modify.current_state(hca, pair))
    attr |= {name: value for name, value in now.items() if name in attr}
    if "qp_state" in attr:
        pair.known_state = pair.state
        attr["sq_draining"] = int(pair.is_draining)
    return QpAnswer(**attr, init_attr=_made_of(qp, pair))


def _now(pair: QueuePair, current: QPState) -> dict[str, Any]:
    """The attributes that the device moves on."""
    return {
        "qp_state": pair.state, "cur_qp_state": current, "sq_psn": pair.req.psn,
        "rq_psn": pair.resp.psn, "cap": replace(pair.cap),
    }  # fmt: skip


def _made_of(qp: Qp, pair: QueuePair) -> QpInitAttr:
    def part(noun: Noun, number: int) -> Thing | None:
        return Thing(noun, qp.node, number) if number else None

    return QpInitAttr(
        pair.qp_type, part(Noun.CQ, pair.send_cq), part(Noun.CQ, pair.recv_cq),
        part(Noun.SRQ, pair.srq), part(Noun.XRCD, pair.xrcd), replace(pair.cap), pair.sq_sig_all,
        pair.max_tso_header,
    )  # fmt: skip


@command(VERB)
def destroy_qp(world: World, qp: Qp) -> None:
    """Destroy a queue pair; what waits in its queues vanishes without a completion.

    A receive that it had taken from an SRQ vanishes with it. Of one that open_qp shares, a holder
    less has it.

    Example: destroy_qp A.qp0
    See: ibv_create_qp(3)
    """
    qp_lifecycle.destroy_qp(*world.at(qp, QueuePair))


# --------------------------------------------------------------------------- address handles
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


# --------------------------------------------------------------------------- flow rules
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
