"""Extended queue pairs: created with the builders of ibv_wr_* that they will use."""

from rdmalab.command import VERB, Thing, command
from rdmalab.hca import extended
from rdmalab.hca.qp import Extended, QueuePair
from rdmalab.spec.builders import InitMask
from rdmalab.spec.row import dataclass
from rdmalab.spec.work import SendOps
from rdmalab.verbs.nouns import NewQp, Pd, Qp
from rdmalab.verbs.qp import QpInitAttr, create_qp
from rdmalab.world.world import World


@dataclass(slots=True)
class QpInitAttrEx(QpInitAttr):
    """`ibv_qp_init_attr_ex`. comp_mask: without it, of the fields that are given."""

    C_NAME = "ibv_qp_init_attr_ex"

    pd: Pd | None = None
    send_ops_flags: SendOps | None = None
    comp_mask: InitMask | None = None

    def mask(self) -> int:
        """The comp_mask that the device gets."""
        if self.comp_mask is not None:
            return int(self.comp_mask)
        given = {
            InitMask.PD: self.pd is not None,
            InitMask.XRCD: self.xrcd is not None,
            InitMask.MAX_TSO_HEADER: self.max_tso_header != 0,
            InitMask.SEND_OPS_FLAGS: self.send_ops_flags is not None,
        }
        return sum(bit for bit, is_given in given.items() if is_given)

    def drop(self, mask: int) -> None:
        """The device reads nothing that the mask does not name."""
        if not mask & InitMask.XRCD:
            self.xrcd = None
        if not mask & InitMask.MAX_TSO_HEADER:
            self.max_tso_header = 0


@command(VERB)
def create_qp_ex(world: World, qp: NewQp, *, init_attr: QpInitAttrEx) -> Thing:
    """Create a queue pair for the ibv_wr_* functions, as create_qp does for post_send.

    send_ops_flags names the builders to come: SEND|RDMA_WRITE for wr_send and wr_rdma_write. 0 is
    legal and gives none. EOPNOTSUPP, and no queue pair at all, if one of them is not for this type
    or device. EINVAL without a protection domain. comp_mask is made of the fields that are given,
    unless it is written out.

    Example: create_qp_ex A.qp1 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0 send_ops_flags=SEND
    See: ibv_create_qp_ex(3); help wr_start
    """
    init, hca = init_attr, world.nodes[qp.node]
    mask, ops = init.mask(), int(init.send_ops_flags or 0)
    has_pd = init.pd is not None
    if (refusal := extended.judge(hca, init.qp_type, mask, ops, has_pd=has_pd)) is not None:
        raise refusal
    init.drop(mask)
    made: Thing = create_qp.function(world, qp, pd=init.pd, init_attr=init)
    if mask & InitMask.SEND_OPS_FLAGS:
        world.find(made, QueuePair).ex = Extended(ops)
    return made


@command(VERB)
def qp_to_qp_ex(world: World, qp: Qp) -> None:
    """Get the extended face of a queue pair: what wr_start and the builders are called with.

    EINVAL here, NULL in C, unless create_qp_ex was given SEND_OPS_FLAGS. In the lab the builders
    take the queue pair itself.

    Example: qp_to_qp_ex A.qx0
    See: ibv_qp_to_qp_ex(3)
    """
    extended.of(*world.at(qp, QueuePair))
