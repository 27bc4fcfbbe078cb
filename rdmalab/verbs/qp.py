"""Queue pairs: made, brought up, asked, destroyed."""

import copy
from dataclasses import dataclass, field
from typing import Annotated

from rdmalab.command import Bits, Noun, Thing, command
from rdmalab.hca import modify, objects
from rdmalab.hca.attributes import ADDRESS, QpAttr
from rdmalab.hca.qp import Capacity
from rdmalab.spec.states import Attr, QPType
from rdmalab.verbs.nouns import Cq, NewQp, Pd, Qp
from rdmalab.verbs.same_node import on
from rdmalab.world.world import World


@dataclass(slots=True)
class QpInitAttr:
    """`ibv_qp_init_attr`."""

    qp_type: QPType
    send_cq: Cq
    recv_cq: Cq
    cap: Capacity = field(default_factory=Capacity)
    sq_sig_all: bool = False
    max_tso_header: Annotated[int, Bits(16)] = 0


@command
def create_qp(world: World, qp: NewQp, *, pd: Pd, init_attr: QpInitAttr) -> Thing:
    """Create a queue pair; it starts in RESET.

    sq_sig_all=1: every send WR completes visibly, SIGNALED or not.
    max_tso_header=54: it may post TSO with headers of so many bytes (UD and RAW_PACKET).
    EINVAL: a cap beyond the device's limits, an unknown type. EOPNOTSUPP: a type the device has
    not. EPERM: RAW_PACKET without CAP_NET_RAW. ENOMEM beyond max_qp.

    Example: create_qp A.qp1 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0 max_send_wr=8
    See: ibv_create_qp(3)
    """
    init = init_attr
    hca = on(world, qp.node, pd, init.send_cq, init.recv_cq)
    pd_, send_cq, recv_cq = (world.find(t).number for t in (pd, init.send_cq, init.recv_cq))
    made = objects.create_qp(
        hca, init.qp_type, pd_, send_cq, recv_cq, init.cap,
        sig_all=init.sq_sig_all, max_tso_header=init.max_tso_header,
    )  # fmt: skip
    return Thing(Noun.QP, qp.node, made.number)


@command
def modify_qp(
    world: World, qp: Qp, *, attr: Annotated[QpAttr, ADDRESS], attr_mask: Attr | None = None
) -> None:
    """Move a queue pair to another state, or change its attributes.

    RESET → INIT → RTR → RTS is the way up; each move requires some attributes, allows some more
    and refuses all others with EINVAL, all or nothing. `ah=B` stands for the whole address of
    node B. The mask is made of the fields that are given, unless attr_mask says otherwise.

    Example: modify_qp A.qp0 state=ERR
    See: ibv_modify_qp(3); explain modify_qp; explain RTR
    """
    modify.modify(*world.at(qp), attr, attr_mask)


@command
def query_qp(world: World, qp: Qp) -> QpAttr:
    """Read the attributes of a queue pair, its state first.

    libibverbs keeps a copy of the state that a move to ERR by the device does not update: asking
    updates it.

    Example: query_qp A.qp0
    See: ibv_query_qp(3)
    """
    pair = world.find(qp)
    attr: QpAttr = copy.deepcopy(pair.attr)
    attr.qp_state = pair.known_state = pair.state
    attr.sq_psn, attr.rq_psn = pair.req.psn, pair.resp.psn
    return attr


@command
def destroy_qp(world: World, qp: Qp) -> None:
    """Destroy a queue pair; what waits in its queues vanishes without a completion.

    Example: destroy_qp A.qp0
    See: ibv_create_qp(3)
    """
    objects.destroy_qp(*world.at(qp))
