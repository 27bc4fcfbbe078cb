"""Structs that create_qp and create_qp_ex take."""

from rdmalab.compat.pyverbs import wq
from rdmalab.compat.pyverbs.base import PyverbsObject
from rdmalab.compat.pyverbs.c_types import INT, U16, U32, U64, converted, enum
from rdmalab.compat.pyverbs.cq import CQ, CQEX
from rdmalab.compat.pyverbs.pd import PD
from rdmalab.compat.pyverbs.pyverbs_error import PyverbsUserError
from rdmalab.compat.pyverbs.qp_cap import CAPS, Cap, Capped, QPCap, cap_rows
from rdmalab.compat.pyverbs.srq import SRQ
from rdmalab.compat.pyverbs.struct import NARROW, Number, ObjectField, expect, table
from rdmalab.compat.pyverbs.unsupported import Absent
from rdmalab.compat.pyverbs.utils import qp_type_to_str
from rdmalab.compat.pyverbs.wc import flags_to_str
from rdmalab.compat.pyverbs.xrcd import XRCD
from rdmalab.spec.builders import InitMask
from rdmalab.spec.states import QPType

__name__ = "rdmalab.compat.pyverbs.qp"  # the module of pyverbs that has its names

_INDENTED = "    {:20}: {:<20}\n"
_UD = int(QPType.UD)


_MASKS = {
    1: "PD", 2: "XRCD", 4: "Create Flags", 8: "Max TSO header", 16: "Indirection Table",
    32: "RX hash",
}  # fmt: skip
_CREATE_FLAGS = {
    1: "Block self mcast loopback", 2: "Scatter FCS", 4: "CVLAN stripping", 8: "Source QPN",
    16: "PCI write end padding",
}  # fmt: skip


def _mask_to_str(mask: int) -> str:
    return flags_to_str(mask, _MASKS)


def _create_flags_to_str(flags: int) -> str:
    return flags_to_str(flags, _CREATE_FLAGS)


class _InitAttr(Capped):
    """The attributes of both create_qp and create_qp_ex."""

    __slots__ = ()
    qp_type = Number(enum("ibv_qp_type"), "QP type", qp_type_to_str)
    sq_sig_all = Number(INT, "SQ sig. all")
    cap = Cap()
    send_cq = ObjectField[CQ | CQEX]()
    recv_cq = ObjectField[CQ | CQEX]()
    srq = ObjectField(SRQ)

    def _take(
        self, scq: CQ | CQEX | None, rcq: CQ | CQEX | None, srq: SRQ | None, cap: QPCap | None
    ) -> None:
        for name, queue in (("scq", scq), ("rcq", rcq)):
            expect(name, queue, PyverbsObject)
            if queue is not None and not isinstance(queue, CQ | CQEX):
                raise PyverbsUserError(f"Expected CQ/CQEX, got {type(queue)}")
        expect("srq", srq, SRQ)
        expect("cap", cap, QPCap)
        self.parts |= {"send_cq": scq, "recv_cq": rcq, "srq": srq}
        self.cap = cap

    def as_arguments(self) -> dict[str, object]:
        """The init_attr of a command create_qp or create_qp_ex."""
        parts = {name: self.parts.get(name) for name in ("send_cq", "recv_cq", "srq", "pd", "xrcd")}
        found: dict[str, object] = {name: part.ref for name, part in parts.items() if part}
        found |= {"qp_type": self.qp_type, "sq_sig_all": self.sq_sig_all}
        return found | {"cap": self.numbers(CAPS)}


class QPInitAttr(_InitAttr):
    """`ibv_qp_init_attr`."""

    __slots__ = ()

    def __init__(
        self, qp_type: int = _UD, qp_context: object = None, scq: CQ | CQEX | None = None,
        rcq: CQ | CQEX | None = None, srq: SRQ | None = None, cap: QPCap | None = None,
        sq_sig_all: int = 1,
    ) -> None:  # fmt: skip
        del qp_context
        self._set(locals())
        self._take(scq, rcq, srq, cap)

    def __str__(self) -> str:
        return table(self._rows(), NARROW) + "QP caps:\n" + table(cap_rows(self), _INDENTED)


class QPInitAttrEx(_InitAttr):
    """`ibv_qp_init_attr_ex`; comp_mask: which of pd, xrcd and the following fields count."""

    __slots__ = ("_send_ops_flags",)
    comp_mask = Number(U32, "comp mask", _mask_to_str)
    create_flags = Number(U32, "create flags", _create_flags_to_str)
    max_tso_header = Number(U16, "max TSO header")
    source_qpn = Number(U32, "Source QPN")
    pd = ObjectField(PD)
    xrcd = ObjectField(XRCD)
    ind_table = ObjectField(wq.RwqIndTable)

    def __init__(
        self, qp_type: int = _UD, qp_context: object = None, scq: CQ | CQEX | None = None,
        rcq: CQ | CQEX | None = None, srq: SRQ | None = None, cap: QPCap | None = None,
        sq_sig_all: int = 0, comp_mask: int = 0, pd: PD | None = None, xrcd: XRCD | None = None,
        create_flags: int = 0, max_tso_header: int = 0, source_qpn: int = 0,
        hash_conf: Absent | None = None, ind_table: Absent | None = None, send_ops_flags: int = 0,
    ) -> None:  # fmt: skip
        del qp_context
        expect("hash_conf", hash_conf, wq.RxHashConf)
        self._set(locals())
        self._take(scq, rcq, srq, cap)
        given = {"pd": (pd, PD), "xrcd": (xrcd, XRCD), "ind_table": (ind_table, wq.RwqIndTable)}
        for name, (part, kind) in given.items():
            expect(name, part, kind)
            self.parts[name] = part
        self._send_ops_flags = converted(send_ops_flags, U64)

    def as_arguments(self) -> dict[str, object]:
        """Arguments of create_qp without the fields that comp_mask does not name."""
        found, mask = super().as_arguments(), self.comp_mask
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
        """The fields that a comp_mask names, each followed by a blank."""
        return _mask_to_str(mask)

    def flags_to_str(self, flags: int, /) -> str:
        """The meaning of each bit of create_flags, followed by a blank."""
        return _create_flags_to_str(flags)

    def __str__(self) -> str:
        caps = [(f"  {label}", size) for label, size in cap_rows(self)]
        head, tail = self._rows()[:2], self._rows()[2:]
        return table(head, NARROW) + "QP caps:\n" + table([*caps, *tail], NARROW)
