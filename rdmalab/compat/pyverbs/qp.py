"""pyverbs.qp: extended queue pairs; the other classes are in qp_attr and queue_pair."""

from collections.abc import Sequence
from errno import EOPNOTSUPP
from typing import Any

from rdmalab.command import Noun, Refused
from rdmalab.compat.process import here
from rdmalab.compat.pyverbs.addr import AH
from rdmalab.compat.pyverbs.base import LabObject, PyverbsCM, call, failed, octets_at
from rdmalab.compat.pyverbs.c_types import INT, SIZE, U16, U32, U64, converted
from rdmalab.compat.pyverbs.device import Context
from rdmalab.compat.pyverbs.mr import MR, MW, MWBind, MWBindInfo, lend
from rdmalab.compat.pyverbs.pd import PD
from rdmalab.compat.pyverbs.pyverbs_error import PyverbsRDMAError, PyverbsUserError
from rdmalab.compat.pyverbs.qp_attr import *
from rdmalab.compat.pyverbs.qp_attr import (
    CAPS,
    ECE,
    QPAttr,
    QPInitAttr,
    QPInitAttrEx,
    QPRateLimitAttr,
    address,
)
from rdmalab.compat.pyverbs.qp_attr import QPCap as QPCap
from rdmalab.compat.pyverbs.struct import WIDE, expect, table
from rdmalab.compat.pyverbs.utils import qp_state_to_str, qp_type_to_str
from rdmalab.compat.pyverbs.wr import SGE, RecvWR, SendWR, post
from rdmalab.hca.qp import QueuePair
from rdmalab.spec.states import ATTRIBUTES, MOVES, Attr, QPState, QPType
from rdmalab.spec.work import Placement, Selectivity

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
        init_attr.fill(_sizes(self.found.reported_cap))
        if qp_attr is not None:
            getattr(self, _BEGINS.get(QPType(self.qp_type), "to_init"))(qp_attr)

    def _create_qp(self, pd: PD, attr: QPInitAttr) -> None:
        init = attr.as_arguments()
        self._made("Failed to create QP", "create_qp", Noun.QP, pd.node, pd=pd.ref, init_attr=init)

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

    def _move(self, to: QPState, text: str, qp_attr: QPAttr) -> None:
        mask = self._get_comp_mask(to.name)
        qp_attr.qp_state = to
        self._modify(f"Failed to modify QP state to {text}", qp_attr, mask)

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
        kind, state = qp_type_to_str(self.qp_type), qp_state_to_str(self.qp_state)
        return table((("QP type", kind), ("  number", self.qp_num), ("  state", state)), WIDE)


_POINTER = (1 << 64) - 1


class DataBuffer(PyverbsCM):
    """`ibv_data_buf`: memory of the program for wr_set_inline_data_list."""

    __slots__ = ("_octets",)

    def __init__(self, addr: int, length: int) -> None:
        self._octets = addr & _POINTER, converted(length, SIZE)

    def read(self) -> bytes:
        """The bytes as they are now; PyverbsError where C crashes."""
        return octets_at(*self._octets)


def _swapped(data: int) -> int:
    """htobe32."""
    return int.from_bytes(converted(data, U32).to_bytes(4, "little"), "big")


class QPEx(QP):
    """`ibv_qp_ex`: wr_id and wr_flags are those of the next builder.

    Builders (wr_send …) begin a request, setters (wr_set_…) complete it. They return nothing:
    wr_complete raises their error. Keys and lengths that do not fit C's type: OverflowError.
    """

    __slots__ = ("_scratch", "ind_table", "wr_flags", "wr_id")

    def __init__(
        self, creator: Context, init_attr: QPInitAttrEx, qp_attr: QPAttr | None = None
    ) -> None:
        super().__init__(creator, init_attr, qp_attr)
        self.ind_table, self.wr_id, self.wr_flags = init_attr.ind_table, 0, 0
        self._scratch: MR | None = None

    @property
    def comp_mask(self) -> int:
        return 0

    def _say(self, word: str, **operands: object) -> None:
        """A builder or setter; its error is returned by wr_complete, but for a crash of C."""
        try:
            here().call(word, qp=self.ref, **operands)
        except Refused as refusal:
            if refusal.rule.startswith("crash-"):
                raise failed("", refusal) from None

    def _build(self, word: str, **operands: object) -> None:
        qpx = {"wr_id": self.wr_id, "wr_flags": self.wr_flags}
        self._say(word, **operands, qpx=qpx)

    def _target(self, rkey: int, remote_addr: int) -> dict[str, int]:
        addr = here().buffers.to_lab(converted(remote_addr, U64))
        return {"rkey": converted(rkey, U32), "remote_addr": addr}

    def _buffer(self, addr: int, length: int) -> dict[str, int]:
        """Bytes that no key is asked for: of a buffer the lab knows, or a copy in one it does."""
        buffers = here().buffers
        if length and buffers.covering(self.node, addr, length) is None:
            return self._borrow(octets_at(addr, length))
        return {"addr": buffers.to_lab(addr), "length": length}

    def _borrow(self, octets: bytes) -> dict[str, int]:
        room = self._scratch
        if room is None or room.length < len(octets):
            room = self._scratch = MR(self._pd, max(len(octets), 64), 0)
        room.write(octets, len(octets))
        return {"addr": here().buffers.to_lab(room.buf), "length": len(octets)}

    def wr_start(self) -> None:
        """`ibv_wr_start`: begin a batch of requests."""
        self._say("wr_start")

    def wr_complete(self) -> None:
        """`ibv_wr_complete`: post the batch, or nothing and raise the first error."""
        call("ibv_wr_complete failed.", "wr_complete", qp=self.ref)

    def wr_abort(self) -> None:
        """`ibv_wr_abort`: discard the batch."""
        self._say("wr_abort")

    def wr_send(self) -> None:
        """`ibv_wr_send`: begin a SEND."""
        self._build("wr_send")

    def wr_send_imm(self, data: int, /) -> None:
        """`ibv_wr_send_imm`; data: the immediate in host byte order."""
        self._build("wr_send_imm", imm_data=_swapped(data))

    def wr_send_inv(self, invalidate_rkey: int, /) -> None:
        """`ibv_wr_send_inv`: a SEND that invalidates an rkey of the peer."""
        self._build("wr_send_inv", invalidate_rkey=converted(invalidate_rkey, U32))

    def wr_send_tso(self, hdr: int, hdr_sz: int, mss: int) -> None:
        """`ibv_wr_send_tso`; hdr, hdr_sz: address and bytes of the header; mss: in bytes."""
        place = self._buffer(hdr, hdr_sz)
        header = {"hdr_addr": place["addr"], "hdr_sz": hdr_sz, "mss": converted(mss, U16)}
        self._build("wr_send_tso", header=header)

    def wr_rdma_read(self, rkey: int, remote_addr: int) -> None:
        """`ibv_wr_rdma_read`: begin an RDMA READ."""
        self._build("wr_rdma_read", target=self._target(rkey, remote_addr))

    def wr_rdma_write(self, rkey: int, remote_addr: int) -> None:
        """`ibv_wr_rdma_write`: begin an RDMA WRITE."""
        self._build("wr_rdma_write", target=self._target(rkey, remote_addr))

    def wr_rdma_write_imm(self, rkey: int, remote_addr: int, data: int) -> None:
        """`ibv_wr_rdma_write_imm`; data: the immediate in host byte order."""
        target = self._target(rkey, remote_addr)
        self._build("wr_rdma_write_imm", target=target, imm_data=_swapped(data))

    def wr_atomic_cmp_swp(self, rkey: int, remote_addr: int, compare: int, swap: int) -> None:
        """`ibv_wr_atomic_cmp_swp`: write swap if the 8 bytes equal compare."""
        numbers = {"compare": converted(compare, U64), "swap": converted(swap, U64)}
        operands = {**self._target(rkey, remote_addr), **numbers}
        self._build("wr_atomic_cmp_swp", operands=operands)

    def wr_atomic_fetch_add(self, rkey: int, remote_addr: int, add: int) -> None:
        """`ibv_wr_atomic_fetch_add`: add to 8 bytes."""
        operands = {**self._target(rkey, remote_addr), "add": converted(add, U64)}
        self._build("wr_atomic_fetch_add", operands=operands)

    def wr_atomic_write(self, rkey: int, remote_addr: int, atomic_wr: bytes) -> None:
        """`ibv_wr_atomic_write`: write the first 8 bytes of atomic_wr at once."""
        place = self._borrow(bytes(atomic_wr[:8]))
        target = {**self._target(rkey, remote_addr), "atomic_wr": place}
        self._build("wr_atomic_write", target=target)

    def wr_flush(self, rkey: int, remote_addr: int, length: int, ptype: int, level: int) -> None:
        """`ibv_wr_flush`: flush `length` bytes, or the whole MR; ptype: how visible they become.

        PyverbsUserError for a ptype or level that libibverbs has no name for.
        """
        if not 0 < ptype <= sum(Placement) or level not in tuple(Selectivity):
            known = (
                "ptype=IBV_FLUSH_GLOBAL|IBV_FLUSH_PERSISTENT, level=IBV_FLUSH_RANGE or IBV_FLUSH_MR"
            )
            raise PyverbsUserError(f"wr_flush: ptype={ptype}, level={level}; write {known}")
        flushed = {
            "flush_length": converted(length, U32),
            "flush_type": Placement(ptype),
            "flush_level": Selectivity(level),
        }
        self._build("wr_flush", target={**self._target(rkey, remote_addr), **flushed})

    def wr_bind_mw(self, mw: MW, rkey: int, bind_info: MWBindInfo) -> None:
        """`ibv_wr_bind_mw`: bind a type 2 window; rkey: its new key."""
        info = {**bind_info.as_arguments(), "mw": mw.found.number, "mw_rkey": converted(rkey, U32)}
        self._build("wr_bind_mw", info=info)
        self.children.add(mw)

    def wr_local_inv(self, invalidate_rkey: int, /) -> None:
        """`ibv_wr_local_inv`: invalidate an rkey of this node."""
        self._build("wr_local_inv", invalidate_rkey=converted(invalidate_rkey, U32))

    def wr_set_ud_addr(self, ah: AH, remote_qpn: int, remote_rkey: int) -> None:
        """`ibv_wr_set_ud_addr`: address, QP number and Q_Key (remote_rkey) of the remote QP."""
        self._say(
            "wr_set_ud_addr", ah=ah.found.number, remote_qpn=converted(remote_qpn, U32),
            remote_qkey=converted(remote_rkey, U32),
        )  # fmt: skip

    def wr_set_xrc_srqn(self, remote_srqn: int, /) -> None:
        """`ibv_wr_set_xrc_srqn`: the number of the remote SRQ."""
        self._say("wr_set_xrc_srqn", remote_srqn=converted(remote_srqn, U32))

    def wr_set_inline_data(self, addr: int, length: int) -> None:
        """`ibv_wr_set_inline_data`: copy length bytes from addr."""
        self._say("wr_set_inline_data", buf=self._buffer(addr, length))

    def wr_set_inline_data_list(self, num_buf: int, buf_list: Sequence[DataBuffer]) -> None:
        """`ibv_wr_set_inline_data_list`: copy the first num_buf buffers."""
        octets = b"".join(each.read() for each in buf_list[:num_buf])
        self._say("wr_set_inline_data_list", buf=[self._borrow(octets)])

    def wr_set_sge(self, sge: SGE, /) -> None:
        """`ibv_wr_set_sge`: one SGE; TypeError for anything else."""
        expect("sge", sge, SGE, null=False)
        self._say("wr_set_sge", sg=sge.as_arguments())

    def wr_set_sge_list(self, num_sge: int, sg_list: Sequence[SGE]) -> None:
        """`ibv_wr_set_sge_list`: the first num_sge SGEs."""
        self._say("wr_set_sge_list", sg=[sge.as_arguments() for sge in sg_list[:num_sge]])
