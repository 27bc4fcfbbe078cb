"""Shared receive queues, and the XRC domains through which queue pairs of peers name them."""

from rdmalab.command import VERB, Noun, Thing, command
from rdmalab.hca import srq_lifecycle
from rdmalab.hca.objects import ProtectionDomain, XrcDomain
from rdmalab.hca.qp import Parts, SharedReceiveQueue
from rdmalab.hca.srq import SrqCapacity, SrqChange
from rdmalab.hca.wr import QpNumber
from rdmalab.spec.row import dataclass
from rdmalab.spec.srq import OpenFlag, SrqAttrMask, SrqType
from rdmalab.spec.states import QPType
from rdmalab.verbs.nouns import Cq, NewQp, NewSrq, NewXrcd, Pd, Srq, Xrcd, number_of, on
from rdmalab.verbs.post import BadRecvWr, RecvList, posted
from rdmalab.world.world import World


@command(VERB)
def create_srq(world: World, srq: NewSrq, *, pd: Pd, attr: SrqCapacity) -> Thing:
    """Create a shared receive queue; queue pairs are tied to it when they are made.

    srq_limit is ignored here: modify_srq arms it. EINVAL: max_wr 0 or beyond max_srq_wr, max_sge
    beyond max_srq_sge. ENOMEM beyond max_srq.

    Example: create_srq A.srq0 pd=A.pd0 max_wr=16 max_sge=2
    See: ibv_create_srq(3)
    """
    made = srq_lifecycle.create_srq(
        on(world, srq.node, pd), Parts(world.find(pd, ProtectionDomain).number), attr
    )
    return Thing(Noun.SRQ, srq.node, made.number)


@dataclass(slots=True)
class SrqInitAttrEx:
    """`ibv_srq_init_attr_ex`."""

    C_NAME = "ibv_srq_init_attr_ex"

    pd: Pd
    attr: SrqCapacity
    srq_type: SrqType = SrqType.BASIC
    xrcd: Xrcd | None = None
    cq: Cq | None = None


@command(VERB)
def create_srq_ex(world: World, srq: NewSrq, *, init_attr: SrqInitAttrEx) -> Thing:
    """Create a shared receive queue of either type.

    An XRC SRQ lives in an XRC domain, completes on a CQ of its own and is named by number in each
    message that is for it. EINVAL: XRC without xrcd or cq. EOPNOTSUPP: a device without XRC.

    Example: create_srq_ex A.srq0 pd=A.pd0 srq_type=XRC xrcd=A.xrcd0 cq=A.cq0 max_wr=8
    See: ibv_create_srq_ex(3)
    """
    things = {name: getattr(init_attr, name) for name in ("pd", "xrcd", "cq")}
    given = {name: thing for name, thing in things.items() if thing is not None}
    hca = on(world, srq.node, *given.values())
    numbers = {name: number_of(world, thing) for name, thing in given.items()}
    parts = Parts(srq_type=init_attr.srq_type, **numbers)
    made = srq_lifecycle.create_srq(hca, parts, init_attr.attr)
    return Thing(Noun.SRQ, srq.node, made.number)


@command(VERB)
def modify_srq(
    world: World, srq: Srq, *, attr: SrqChange, srq_attr_mask: SrqAttrMask | None = None
) -> None:
    """Arm the limit of a shared receive queue, or resize it.

    srq_limit=7: SRQ_LIMIT_REACHED is raised once, when fewer than 7 receives are left; 0 disarms.
    The mask is made of the fields that are given, unless srq_attr_mask says otherwise. EINVAL: a
    limit beyond the capacity, max_wr below the limit or below what is in use, a device that cannot
    resize; an SRQ in its error state.

    Example: modify_srq A.srq0 srq_limit=4
    See: ibv_modify_srq(3); explain SRQ_LIMIT_REACHED
    """
    srq_lifecycle.modify_srq(*world.at(srq, SharedReceiveQueue), attr, srq_attr_mask)


@command(VERB)
def query_srq(world: World, srq: Srq) -> SrqCapacity:
    """Read max_wr, max_sge and the armed limit of a shared receive queue; 0 is disarmed.

    A real device has no query for the number of receives in it: count them, or `show srq` here.

    Example: query_srq A.srq0
    See: ibv_query_srq(3)
    """
    return srq_lifecycle.query_srq(*world.at(srq, SharedReceiveQueue))


@command(VERB)
def get_srq_num(world: World, srq: Srq) -> int:
    """Read the number by which the messages of XRC name a shared receive queue.

    EOPNOTSUPP: a device without XRC.

    Example: get_srq_num A.srq0
    See: ibv_get_srq_num(3)
    """
    return srq_lifecycle.srq_num(*world.at(srq, SharedReceiveQueue))


@command(VERB)
def destroy_srq(world: World, srq: Srq) -> None:
    """Destroy a shared receive queue; what waits in it vanishes.

    EBUSY while a queue pair is tied to it or uses one of its receives. Waits until all events of it
    that were read are acknowledged.

    Example: destroy_srq A.srq0
    See: ibv_create_srq(3)
    """
    srq_lifecycle.destroy_srq(*world.at(srq, SharedReceiveQueue))


@command(VERB)
def post_srq_recv(
    world: World, srq: Srq | None, *, wr: RecvList, bad_wr: BadRecvWr = "&bad_wr"
) -> None:
    """Queue receives for whichever queue pair of this SRQ needs one first.

    Legal at any time, in any state of any queue pair and without one. ENOMEM when no slot is free,
    EINVAL for too many SGEs; the requests before the bad one stay posted. They are never flushed.
    Wrong pointers as in post_send; recv_wr and bad_recv_wr stand for wr and bad_wr.

    Example: post_srq_recv A.srq0 wr_id=1 sg=A.mr0[0:64]
    See: ibv_post_srq_recv(3)
    """
    posted(world, srq, SharedReceiveQueue, srq_lifecycle.post_srq_recv, wr, bad_wr)


# --------------------------------------------------------------------------- XRC domains
_NO_FLAGS = OpenFlag(0)


@command(VERB)
def open_xrcd(world: World, xrcd: NewXrcd, *, fd: int = -1, oflag: OpenFlag = _NO_FLAGS) -> Thing:
    """Open an XRC domain: SRQs and XRC_RECV queue pairs of one domain belong together.

    fd=-1 makes a domain private to this process and needs O_CREAT; another number stands for a
    file, and every opening of the same file has the same domain. EINVAL: O_EXCL where there is one.
    EAGAIN: none yet and no O_CREAT. EOPNOTSUPP: a device without XRC.

    Example: open_xrcd A.xrcd0 oflag=O_CREAT
    See: ibv_open_xrcd(3); explain xrc
    """
    made = srq_lifecycle.open_xrcd(world.nodes[xrcd.node], fd, int(oflag))
    return Thing(Noun.XRCD, xrcd.node, made.number)


@command(VERB)
def close_xrcd(world: World, xrcd: Xrcd) -> None:
    """Close an XRC domain.

    EBUSY while an SRQ or XRC_RECV queue pair made through it exists.

    Example: close_xrcd A.xrcd0
    See: ibv_open_xrcd(3)
    """
    srq_lifecycle.close_xrcd(*world.at(xrcd, XrcDomain))


@dataclass(slots=True)
class QpOpenAttr:
    """`ibv_qp_open_attr`."""

    C_NAME = "ibv_qp_open_attr"

    xrcd: Xrcd
    qp_num: QpNumber
    qp_type: QPType = QPType.XRC_RECV


@command(VERB)
def open_qp(world: World, qp: NewQp, *, attr: QpOpenAttr) -> Thing:
    """Share an XRC_RECV queue pair of the domain: one more name for the same queue pair.

    It lives until each of those who have it called destroy_qp. EINVAL: no such QP in this domain.

    Example: open_qp A.qp2 xrcd=A.xrcd0 qp_num=A.qp1
    See: ibv_open_qp(3)
    """
    hca = on(world, qp.node, attr.xrcd)
    shared = srq_lifecycle.open_qp(
        hca, world.find(attr.xrcd, XrcDomain).number, attr.qp_num, attr.qp_type
    )
    return Thing(Noun.QP, qp.node, shared.number)
