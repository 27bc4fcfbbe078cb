"""What create_qp takes."""

from typing import Any

from rdmalab.compat.pyverbs import wq
from rdmalab.compat.pyverbs.base import (
    PyverbsObject,
)
from rdmalab.compat.pyverbs.c_types import INT, U16, U32, U64, converted, enum
from rdmalab.compat.pyverbs.cq import CQ, CQEX
from rdmalab.compat.pyverbs.pd import PD
from rdmalab.compat.pyverbs.pyverbs_error import PyverbsUserError
from rdmalab.compat.pyverbs.qp_cap import NARROW, Cap, Capped, QPCap
from rdmalab.compat.pyverbs.srq import SRQ
from rdmalab.compat.pyverbs.struct import Number, Part, expect, table
from rdmalab.compat.pyverbs.utils import (
    qp_type_to_str,
)
from rdmalab.compat.pyverbs.xrcd import XRCD
from rdmalab.spec.builders import InitMask
from rdmalab.spec.states import QPType

__name__ = "rdmalab.compat.pyverbs.qp"  # the module of pyverbs that has its names

_INDENTED = "    {:20}: {:<20}\n"
_UD = int(QPType.UD)


class _InitAttr(Capped):
    """What both kinds of creation take."""

    __slots__ = ()
    qp_type = Number(enum("ibv_qp_type"))
    sq_sig_all = Number(INT)
    cap = Cap()
    send_cq = Part(object)
    recv_cq = Part(object)
    srq = Part(SRQ)

    def _take(self, scq: Any, rcq: Any, srq: Any, cap: QPCap | None) -> None:
        for name, queue in (("scq", scq), ("rcq", rcq)):
            expect(name, queue, PyverbsObject)
            if queue is not None and not isinstance(queue, CQ | CQEX):
                raise PyverbsUserError(f"Expected CQ/CQEX, got {type(queue)}")
        expect("srq", srq, SRQ)
        expect("cap", cap, QPCap)
        self.parts |= {"send_cq": scq, "recv_cq": rcq, "srq": srq}
        self.cap = cap

    def told(self) -> dict[str, Any]:
        """As the lab's words take it."""
        parts = {name: self.parts.get(name) for name in ("send_cq", "recv_cq", "srq", "pd", "xrcd")}
        found = {name: part.ref for name, part in parts.items() if part is not None}
        return found | {
            "qp_type": self.qp_type, "sq_sig_all": self.sq_sig_all, "cap": self.sizes(),
        }  # fmt: skip

    def cap_rows(self) -> list[tuple[str, int]]:
        labels = ("send WR", "recv WR", "send SGE", "recv SGE", "inline data")
        return [
            (f"max {label}", size)
            for label, size in zip(labels, self.sizes().values(), strict=True)
        ]


class QPInitAttr(_InitAttr):
    """`ibv_qp_init_attr`."""

    __slots__ = ()

    def __init__(
        self, qp_type: int = _UD, qp_context: Any = None, scq: Any = None, rcq: Any = None,
        srq: SRQ | None = None, cap: QPCap | None = None, sq_sig_all: int = 1,
    ) -> None:  # fmt: skip
        del qp_context
        self._set(qp_type=qp_type, sq_sig_all=sq_sig_all)
        self._take(scq, rcq, srq, cap)

    def __str__(self) -> str:
        head = (("QP type", qp_type_to_str(self.qp_type)), ("SQ sig. all", self.sq_sig_all))
        return table(head, NARROW) + "QP caps:\n" + table(self.cap_rows(), _INDENTED)


_MASKS = {
    1: "PD", 2: "XRCD", 4: "Create Flags", 8: "Max TSO header", 16: "Indirection Table",
    32: "RX hash",
}  # fmt: skip
_CREATE_FLAGS = {
    1: "Block self mcast loopback", 2: "Scatter FCS", 4: "CVLAN stripping", 8: "Source QPN",
    16: "PCI write end padding",
}  # fmt: skip


class QPInitAttrEx(_InitAttr):
    """`ibv_qp_init_attr_ex`."""

    __slots__ = ("_send_ops_flags",)
    comp_mask = Number(U32)
    create_flags = Number(U32)
    max_tso_header = Number(U16)
    source_qpn = Number(U32)
    pd = Part(PD)
    xrcd = Part(XRCD)
    ind_table = Part(wq.RwqIndTable)

    def __init__(
        self, qp_type: int = _UD, qp_context: Any = None, scq: Any = None, rcq: Any = None,
        srq: SRQ | None = None, cap: QPCap | None = None, sq_sig_all: int = 0, comp_mask: int = 0,
        pd: PD | None = None, xrcd: Any = None, create_flags: int = 0, max_tso_header: int = 0,
        source_qpn: int = 0, hash_conf: Any = None, ind_table: Any = None, send_ops_flags: int = 0,
    ) -> None:  # fmt: skip
        del qp_context
        expect("hash_conf", hash_conf, wq.RxHashConf)
        self._set(
            qp_type=qp_type, sq_sig_all=sq_sig_all, comp_mask=comp_mask,
            create_flags=create_flags, max_tso_header=max_tso_header, source_qpn=source_qpn,
        )  # fmt: skip
        self._take(scq, rcq, srq, cap)
        given = {"pd": (pd, PD), "xrcd": (xrcd, XRCD), "ind_table": (ind_table, wq.RwqIndTable)}
        for name, (part, kind) in given.items():
            expect(name, part, kind)
            self.parts[name] = part
        self._send_ops_flags = converted(send_ops_flags, U64)

    def told(self) -> dict[str, Any]:
        """What the mask does not name is not there."""
        found, mask = super().told(), self.comp_mask
        for name, bit in (("pd", InitMask.PD), ("xrcd", InitMask.XRCD)):
            if not mask & bit:
                found.pop(name, None)
        found["comp_mask"] = mask
        if mask & InitMask.SEND_OPS_FLAGS:
            found["send_ops_flags"] = self._send_ops_flags
        if mask & InitMask.MAX_TSO_HEADER:
            found["max_tso_header"] = self.max_tso_header
        return found

    def mask_to_str(self, mask: int, /) -> str:
        return "".join(f"{text} " for bit, text in _MASKS.items() if mask & bit)

    def flags_to_str(self, flags: int, /) -> str:
        return "".join(f"{text} " for bit, text in _CREATE_FLAGS.items() if flags & bit)

    def __str__(self) -> str:
        head = (("QP type", qp_type_to_str(self.qp_type)), ("SQ sig. all", self.sq_sig_all))
        rows = [(f"  {label}", size) for label, size in self.cap_rows()]
        tail = (
            ("comp mask", self.mask_to_str(self.comp_mask)),
            ("create flags", self.flags_to_str(self.create_flags)),
            ("max TSO header", self.max_tso_header),
            ("Source QPN", self.source_qpn),
        )
        return table(head, NARROW) + "QP caps:\n" + table((*rows, *tail), NARROW)
