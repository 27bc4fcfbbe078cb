"""Queue pairs: made, brought up, asked, destroyed."""

import copy
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from rdmalab.command import VERB, Bits, Noun, Thing, command
from rdmalab.hca import modify, qp_lifecycle
from rdmalab.hca.ah import AH, ALT_AH
from rdmalab.hca.attributes import FIELDS, Capacity, QpAttr
from rdmalab.hca.errors import check_useful
from rdmalab.hca.qp import QueuePair
from rdmalab.spec.states import Attr, QPType, fields_of
from rdmalab.verbs.nouns import Cq, NewQp, Pd, Qp, Srq, Xrcd
from rdmalab.verbs.same_node import number_of, on
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
    """What `ibv_query_qp` fills: the attributes, and what the queue pair was made of.

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
    world: World,
    qp: Qp,
    *,
    attr: Annotated[QpAttr, AH, ALT_AH],
    attr_mask: Attr | None = None,
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
    attr |= {name: value for name, value in _now(pair).items() if name in attr}
    if "qp_state" in attr:
        pair.known_state = pair.state
        attr["sq_draining"] = int(pair.is_draining)
    return QpAnswer(**attr, init_attr=_made_of(qp, pair))


def _now(pair: QueuePair) -> dict[str, Any]:
    """The attributes that the device moves on."""
    return {
        "qp_state": pair.state, "cur_qp_state": pair.state, "sq_psn": pair.req.psn,
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
