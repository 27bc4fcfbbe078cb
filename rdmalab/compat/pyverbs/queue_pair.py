"""QP: states, queries and posting."""

from errno import EOPNOTSUPP
from typing import Any

from rdmalab.command import Noun
from rdmalab.compat.pyverbs.base import (
    LabObject,
    call,
)
from rdmalab.compat.pyverbs.c_types import INT, converted
from rdmalab.compat.pyverbs.device import Context
from rdmalab.compat.pyverbs.mr import MW, MWBind, lend
from rdmalab.compat.pyverbs.pd import PD
from rdmalab.compat.pyverbs.pyverbs_error import PyverbsRDMAError
from rdmalab.compat.pyverbs.qp_attr import ECE, QPAttr, QPRateLimitAttr, address
from rdmalab.compat.pyverbs.qp_cap import CAPS
from rdmalab.compat.pyverbs.qp_init_attr import QPInitAttr, QPInitAttrEx
from rdmalab.compat.pyverbs.struct import WIDE, expect, table
from rdmalab.compat.pyverbs.utils import (
    qp_state_to_str,
    qp_type_to_str,
)
from rdmalab.compat.pyverbs.wr import RecvWR, SendWR, post
from rdmalab.hca.qp import QueuePair
from rdmalab.spec.states import ATTRIBUTES, MOVES, Attr, QPState, QPType

__name__ = "rdmalab.compat.pyverbs.qp"  # the module of pyverbs that has its names

# The state after creation with a qp_attr: the last one that needs nothing of a peer.
_BEGINS = {QPType.UD: "to_rts", QPType.RAW_PACKET: "to_rts"}


def _sizes(cap: object) -> dict[str, int]:
    """The sizes of the queues in an answer of the lab."""
    return {name: getattr(cap, name) for name in CAPS}


class QP(LabObject[QueuePair]):
    """`ibv_qp`, of a PD or, with QPInitAttrEx, of a context."""

    __slots__ = ("_pd",)
    DESTROY, FAILS, RANK = "destroy_qp", "Failed to destroy QP", 1

    def __init__(
        self, creator: PD | Context, init_attr: Any, qp_attr: QPAttr | None = None
    ) -> None:
        expect("qp_attr", qp_attr, QPAttr)
        if isinstance(creator, PD):
            self._create_qp(creator, init_attr)
            self._pd, xrcd = creator, None
        else:
            self._create_qp_ex(creator, init_attr)
            self._pd, xrcd = init_attr.pd, init_attr.xrcd
        queues = init_attr.send_cq, init_attr.recv_cq, init_attr.srq
        self._join(creator, self._pd, *queues, xrcd)
        init_attr.fill(_sizes(self.found.told_cap))
        if qp_attr is not None:
            getattr(self, _BEGINS.get(QPType(self.qp_type), "to_init"))(qp_attr)

    def _create_qp(self, pd: PD, attr: QPInitAttr) -> None:
        self._made(
            "Failed to create QP",
            "create_qp",
            Noun.QP,
            pd.node,
            pd=pd.ref,
            init_attr=attr.as_arguments(),
        )

    def _create_qp_ex(self, ctx: Context, attr: QPInitAttrEx) -> None:
        text = "Failed to create QP"
        if attr.create_flags or attr.ind_table is not None:
            raise PyverbsRDMAError(text, EOPNOTSUPP)
        self._made(text, "create_qp_ex", Noun.QP, ctx.node, init_attr=attr.as_arguments())

    # ------------------------------------------------------------------ states
    def _get_comp_mask(self, dst: str) -> int:
        """The mask of a transition: IBV_QP_STATE and what the new state requires."""
        to = QPState[dst]
        move = MOVES[QPType(self.qp_type), QPState(to - 1), to]
        return int(move.required | Attr.STATE)

    def _move(self, to: QPState, said: str, qp_attr: QPAttr) -> None:
        mask = self._get_comp_mask(to.name)
        qp_attr.qp_state = to
        self._modify(f"Failed to modify QP state to {said}", qp_attr, mask)

    def to_init(self, qp_attr: QPAttr, /) -> None:
        """Change the state to INIT with the attributes that this needs."""
        self._move(QPState.INIT, "init", qp_attr)

    def to_rtr(self, qp_attr: QPAttr, /) -> None:
        """Change the state to RTR, by INIT if it is not in INIT."""
        if self.qp_state != QPState.INIT:
            self.to_init(qp_attr)
        self._move(QPState.RTR, "RTR", qp_attr)

    def to_rts(self, qp_attr: QPAttr, /) -> None:
        """Change the state to RTS, by RTR (and INIT) if it is not in RTR."""
        if self.qp_state != QPState.RTR:
            self.to_rtr(qp_attr)
        self._move(QPState.RTS, "RTS", qp_attr)

    def modify(self, qp_attr: QPAttr, comp_mask: int) -> None:
        """`ibv_modify_qp`; comp_mask: bits of ibv_qp_attr_mask."""
        expect("qp_attr", qp_attr, QPAttr, null=False)
        self._modify("Failed to modify QP", qp_attr, converted(comp_mask, INT))

    def _modify(self, text: str, qp_attr: QPAttr, mask: int) -> None:
        call(text, "modify_qp", qp=self.ref, attr=qp_attr.as_arguments(mask), attr_mask=mask)

    def query(self, attr_mask: int, /) -> tuple[QPAttr, QPInitAttr]:
        """`ibv_query_qp`: all attributes, whatever the mask is, and what it was created with."""
        del attr_mask
        answer = call("Failed to query QP", "query_qp", qp=self.ref)
        attr, init = QPAttr(), QPInitAttr()
        values = {name: getattr(answer, name, None) for name in ATTRIBUTES}
        attr.fill(values | {"sq_draining": answer.sq_draining})
        attr.c.update(_sizes(answer.cap))
        for name in attr.paths:
            attr.paths[name] = address(values[name])
        made = answer.init_attr
        init.fill({"qp_type": made.qp_type, "sq_sig_all": made.sq_sig_all} | _sizes(made.cap))
        return attr, init

    # ------------------------------------------------------------------ work
    def post_recv(self, wr: RecvWR, bad_wr: RecvWR | None = None) -> None:
        """`ibv_post_recv` of a chain; the first that is refused is copied to bad_wr."""
        expect("wr", wr, RecvWR, null=False)
        post("Failed to post recv", "post_recv", wr, bad_wr, qp=self.ref)

    def post_send(self, wr: SendWR, bad_wr: SendWR | None = None) -> None:
        """`ibv_post_send` of a chain; the first that is refused is copied to bad_wr."""
        expect("wr", wr, SendWR, null=False)
        for sge in (sge for each in wr.chain() for sge in each.sg):
            lend(self._pd, sge["addr"], sge["length"])
        post("Failed to post send", "post_send", wr, bad_wr, qp=self.ref)

    def bind_mw(self, mw: MW, mw_bind: MWBind) -> None:
        """`ibv_bind_mw`: post a bind of a type 1 window, which gets a new rkey."""
        call("Failed to Bind MW", "bind_mw", qp=self.ref, mw=mw.ref, asked=mw_bind.as_arguments())

    # ------------------------------------------------------------------ and what else there is
    def set_ece(self, ece: ECE, /) -> None:
        """`ibv_set_ece`: EOPNOTSUPP for any vendor_id but 0."""
        if ece.vendor_id:
            raise PyverbsRDMAError("Failed to set ECE", EOPNOTSUPP)

    def query_ece(self) -> ECE:
        """`ibv_query_ece`: refused with EOPNOTSUPP."""
        raise PyverbsRDMAError("Failed to query ECE", EOPNOTSUPP)

    def modify_rate_limit(self, attr: QPRateLimitAttr) -> None:
        """`ibv_modify_qp_rate_limit`: refused with EOPNOTSUPP."""
        expect("attr", attr, QPRateLimitAttr, null=False)
        raise PyverbsRDMAError("Failed to modify QP rate limit", EOPNOTSUPP)

    def query_data_in_order(self, op: int, flags: int = 0) -> int:
        """`ibv_query_qp_data_in_order`: 0, no device of the lab promises an order."""
        del op, flags
        return 0

    @property
    def qp_type(self) -> int:
        return int(self.found.qp_type)

    @property
    def qp_state(self) -> int:
        return int(self.found.known_state)

    @property
    def qp_num(self) -> int:
        return self.found.number

    def __str__(self) -> str:
        return table(
            (
                ("QP type", qp_type_to_str(self.qp_type)),
                ("  number", self.qp_num),
                ("  state", qp_state_to_str(self.qp_state)),
            ),
            WIDE,
        )
