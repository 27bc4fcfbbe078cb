"""XRC domains, and queue pairs that several processes share."""

from dataclasses import dataclass

from rdmalab.command import VERB, Noun, Thing, command
from rdmalab.hca import srq_lifecycle
from rdmalab.hca.objects import XrcDomain
from rdmalab.hca.wr import QpNumber
from rdmalab.spec.srq import OpenFlag
from rdmalab.spec.states import QPType
from rdmalab.verbs.nouns import NewQp, NewXrcd, Xrcd
from rdmalab.verbs.same_node import on
from rdmalab.world.world import World

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
