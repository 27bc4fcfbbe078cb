"""Shared receive queues."""

from collections.abc import Sequence
from errno import EOPNOTSUPP
from typing import Any

from rdmalab.command import Noun, Refused
from rdmalab.compat.process import here
from rdmalab.compat.pyverbs.base import LabObject, PyverbsCM, call, failed
from rdmalab.compat.pyverbs.c_types import INT, U32, UINT32, UINT64, converted, enum
from rdmalab.compat.pyverbs.cq import CQ, CQEX
from rdmalab.compat.pyverbs.device import Context
from rdmalab.compat.pyverbs.pd import PD
from rdmalab.compat.pyverbs.pyverbs_error import PyverbsRDMAError
from rdmalab.compat.pyverbs.struct import Number, ObjectField, Struct, expect, numbers
from rdmalab.compat.pyverbs.wr import SGE, RecvWR, post
from rdmalab.compat.pyverbs.xrcd import XRCD
from rdmalab.hca.qp import SharedReceiveQueue
from rdmalab.spec.srq import SrqAttrMask, SrqType

_TYPE, _PD, _XRCD, _CQ = 1, 2, 4, 8  # of ibv_srq_init_attr_mask
_CAPACITY = ("max_wr", "max_sge", "srq_limit")


class SrqAttr(Struct):
    """`ibv_srq_attr`; srq_limit: with fewer receives, IBV_EVENT_SRQ_LIMIT_REACHED is raised."""

    max_wr, max_sge, srq_limit = numbers(U32, 3)

    def __init__(self, max_wr: int = 100, max_sge: int = 1, srq_limit: int = 0) -> None:
        self._set(locals())


class _InitAttr(Struct):
    """Read-only fields that the attributes of both ways of creation share."""

    max_wr, max_sge, srq_limit = numbers(U32, 3, fixed=True)


class SrqInitAttr(_InitAttr):
    """`ibv_srq_init_attr`."""

    def __init__(self, attr: SrqAttr | None = None) -> None:
        expect("attr", attr, SrqAttr)
        self._set(attr.c if attr is not None else {})


class SrqInitAttrEx(_InitAttr):
    """`ibv_srq_init_attr_ex`; comp_mask: which of srq_type, pd, xrcd and cq count."""

    comp_mask = Number(U32)
    srq_type = Number(enum("ibv_srq_type"))
    max_num_tags = Number(UINT32)
    max_ops = Number(UINT32)
    pd = ObjectField(PD)
    xrcd = ObjectField(XRCD)
    cq = ObjectField[CQ | CQEX]()

    def __init__(self, max_wr: int = 100, max_sge: int = 1, srq_limit: int = 0) -> None:
        self._set(locals())

    def as_arguments(self) -> dict[str, object]:
        """The init_attr of a command create_srq_ex: the fields that comp_mask names."""
        parts = {"pd": (_PD, self.pd), "xrcd": (_XRCD, self.xrcd), "cq": (_CQ, self.cq)}
        found: dict[str, object] = {
            name: part.ref for name, (bit, part) in parts.items() if self.comp_mask & bit and part
        }
        if self.comp_mask & _TYPE:
            found["srq_type"] = self.srq_type
        return found | {"attr": self.numbers(_CAPACITY)}


class OpsWr(Struct, PyverbsCM):
    """`ibv_ops_wr`: of tag matching, which the lab's devices do not have."""

    wr_id = Number(UINT64)
    opcode = Number(enum("ibv_ops_wr_opcode"))
    flags = Number(INT)
    unexpected_cnt = Number(UINT32)
    recv_wr_id = Number(UINT64)
    tag = Number(UINT64)
    handle = Number(UINT32)
    mask = Number(UINT64)

    def __init__(
        self, wr_id: int = 0, opcode: int = 0, flags: int = 1, next_wr: "OpsWr | None" = None,
        unexpected_cnt: int = 0, recv_wr_id: int = 0, num_sge: int | None = None, tag: int = 0,
        mask: int = 0, sg_list: Sequence[SGE] | None = None,
    ) -> None:  # fmt: skip
        expect("next_wr", next_wr, OpsWr)
        self._set(locals())
        self.parts["next_wr"] = next_wr
        if num_sge is not None:
            converted(num_sge, INT)
        if sg_list is not None:
            for at in range(num_sge):  # type: ignore[arg-type]  # as it refuses None
                expect("sg_list", sg_list[at], SGE)

    @property
    def next_wr(self) -> "OpsWr | None":
        """A copy."""
        following = self.parts.get("next_wr")
        if following is None:
            return None
        copy = OpsWr()
        copy.c, copy.parts = dict(following.c), dict(following.parts)
        return copy

    @next_wr.setter
    def next_wr(self, val: "OpsWr") -> None:
        expect("val", val, OpsWr, null=False)
        self.parts["next_wr"] = val


class SRQ(LabObject[SharedReceiveQueue]):
    """`ibv_srq`, of a PD or, extended, of a context."""

    DESTROY, FAILS, RANK = "destroy_srq", "Failed to destroy SRQ", 5

    def __init__(self, creator: PD | Context, attr: Any) -> None:
        if isinstance(creator, PD):
            self._create_srq(creator, attr)
        else:
            self._create_srq_ex(creator, attr)

    def _create_srq(self, pd: PD, init_attr: SrqInitAttr) -> None:
        self._create("create_srq", pd, pd=pd.ref, attr=init_attr.numbers(_CAPACITY))

    def _create_srq_ex(self, context: Context, init_attr_ex: SrqInitAttrEx) -> None:
        arguments = init_attr_ex.as_arguments()
        if arguments.get("srq_type", SrqType.BASIC) not in tuple(SrqType):
            raise PyverbsRDMAError("Failed to create SRQ (errno is 95)", EOPNOTSUPP)
        self._create("create_srq_ex", context, init_attr=arguments)
        self._join(context, init_attr_ex.pd, init_attr_ex.xrcd, init_attr_ex.cq)

    def _create(self, word: str, creator: PD | Context, **arguments: object) -> None:
        try:
            self._is(here().make(word, Noun.SRQ, creator.node, **arguments))
        except Refused as refusal:
            text = f"Failed to create SRQ (errno is {refusal.errno})"
            raise failed(text, refusal) from None
        self._join(creator)

    def get_srq_num(self) -> int:
        """`ibv_get_srq_num`: its number for XRC sends. EOPNOTSUPP: a device without XRC."""
        return int(call("Failed to retrieve SRQ number", "get_srq_num", srq=self.ref))

    def modify(self, attr: SrqAttr, comp_mask: int) -> None:
        """`ibv_modify_srq`: set the fields that comp_mask (ibv_srq_attr_mask) names."""
        bits = {"max_wr": SrqAttrMask.MAX_WR, "srq_limit": SrqAttrMask.LIMIT}
        given = attr.numbers(name for name, bit in bits.items() if comp_mask & bit)
        text = "Failed to modify SRQ"
        call(text, "modify_srq", srq=self.ref, attr=given, srq_attr_mask=comp_mask)

    def query(self) -> SrqAttr:
        """`ibv_query_srq`: the real sizes and the limit; 0: not armed."""
        found, attr = call("Failed to query SRQ", "query_srq", srq=self.ref), SrqAttr()
        attr.fill({name: getattr(found, name) for name in _CAPACITY})
        return attr

    def post_srq_ops(self, wr: OpsWr, bad_wr: OpsWr | None = None) -> None:
        """`ibv_post_srq_ops`: refused with EOPNOTSUPP."""
        del wr, bad_wr
        raise PyverbsRDMAError("post SRQ ops failed.", EOPNOTSUPP)

    def post_recv(self, wr: RecvWR, bad_wr: RecvWR | None = None) -> None:
        """`ibv_post_srq_recv` of a chain; the first that is refused is copied to bad_wr."""
        post("Failed to post receive to SRQ.", "post_srq_recv", wr, bad_wr, srq=self.ref)
