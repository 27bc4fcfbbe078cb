"""Structs that create_qp and modify_qp take, and that query_qp returns."""

from collections.abc import Sequence

from rdmalab.compat.pyverbs import wq
from rdmalab.compat.pyverbs.addr import GID, AHAttr, GlobalRoute, as_arguments, text_of
from rdmalab.compat.pyverbs.base import PyverbsCM, PyverbsObject
from rdmalab.compat.pyverbs.c_types import INT, U8, U16, U32, U64, UINT32, converted, enum
from rdmalab.compat.pyverbs.cq import CQ, CQEX
from rdmalab.compat.pyverbs.pd import PD
from rdmalab.compat.pyverbs.pyverbs_error import PyverbsUserError
from rdmalab.compat.pyverbs.srq import SRQ
from rdmalab.compat.pyverbs.struct import (
    NARROW,
    Member,
    Number,
    ObjectField,
    Struct,
    expect,
    numbers,
    table,
)
from rdmalab.compat.pyverbs.unsupported import Absent
from rdmalab.compat.pyverbs.utils import (
    access_flags_to_str,
    mig_state_to_str,
    mtu_to_str,
    qp_state_to_str,
    qp_type_to_str,
)
from rdmalab.compat.pyverbs.wc import flags_to_str
from rdmalab.compat.pyverbs.xrcd import XRCD
from rdmalab.hca.attributes import AhAttr
from rdmalab.spec.builders import InitMask
from rdmalab.spec.states import ATTRIBUTES, MTU, QPState, QPType

CAPS = ("max_send_wr", "max_recv_wr", "max_send_sge", "max_recv_sge", "max_inline_data")
_LABELS = ("send WR", "recv WR", "send SGE", "recv SGE", "inline data")


def cap_rows(struct: Struct, labels: Sequence[str] = _LABELS) -> list[tuple[str, int]]:
    """(label, size) of each queue of a struct."""
    sizes = struct.numbers(CAPS).values()
    return [(f"max {label}", size) for label, size in zip(labels, sizes, strict=True)]


class Capped(Struct):
    """A struct with the sizes of the queues as attributes."""

    max_send_wr, max_recv_wr, max_send_sge, max_recv_sge, max_inline_data = numbers(U32, 5)


class QPCap(Capped):
    """`ibv_qp_cap`: work requests and SGEs a queue, bytes of inline data."""

    __module__ = "rdmalab.compat.pyverbs.qp"

    def __init__(
        self, max_send_wr: int = 1, max_recv_wr: int = 10, max_send_sge: int = 1,
        max_recv_sge: int = 1, max_inline_data: int = 0,
    ) -> None:  # fmt: skip
        self._set(locals())

    def __str__(self) -> str:
        labels = ("send wrs", "recv wrs", "send sges", "recv sges", "inline data")
        return table(cap_rows(self, labels), NARROW)


class Cap(Member[QPCap]):
    """The sizes as one attribute: read as a copy, written all at once. None is ignored."""

    def _read(self, struct: Struct) -> QPCap:
        return QPCap(**struct.numbers(CAPS))

    def __set__(self, struct: Struct, cap: QPCap | None) -> None:
        expect("src", cap, QPCap)
        if cap is not None:
            struct.c.update(cap.numbers(CAPS))


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
        for name, part, kind in (
            ("pd", pd, PD), ("xrcd", xrcd, XRCD), ("ind_table", ind_table, wq.RwqIndTable)
        ):  # fmt: skip
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


__name__ = "rdmalab.compat.pyverbs.qp"  # the module of pyverbs that has its names

_INNER = "  {:22}: {:<20}\n"
_DEEP = "    {:22}: {:<20}\n"
_BEFORE_CAPS = 9  # fields of QPAttr that its table shows first


class _Path(Member[AHAttr]):
    """An address as one attribute of QPAttr: copied both ways."""

    def _read(self, struct: "QPAttr") -> AHAttr:
        path = _copied(struct.paths[self.name])
        path.c["port_num"] = struct.paths["ah_attr"].port_num  # of the alternate path, too
        return path

    def __set__(self, struct: "QPAttr", val: AHAttr | None) -> None:
        struct.take_path(self.name, val)


def _copied(attr: AHAttr) -> AHAttr:
    made = AHAttr()
    made.c = dict(attr.c)
    return made


def _nowhere() -> AHAttr:
    return AHAttr(port_num=0)


class QPAttr(Struct):
    """`ibv_qp_attr`."""

    __slots__ = ("paths",)
    qp_state = Number(enum("ibv_qp_state"), "QP state", qp_state_to_str)
    cur_qp_state = Number(enum("ibv_qp_state"), "QP current state", qp_state_to_str)
    path_mtu = Number(enum("ibv_mtu"), "Path MTU", mtu_to_str)
    path_mig_state = Number(enum("ibv_mig_state"), "Path mig. state", mig_state_to_str)
    qkey = Number(U32, "QKey")
    rq_psn = Number(U32, "RQ PSN")
    sq_psn = Number(U32, "SQ PSN")
    dest_qp_num = Number(U32, "Dest QP number")
    qp_access_flags = Number(U32, "QP access flags", access_flags_to_str)
    cap = Cap()
    ah_attr = _Path()
    alt_ah_attr = _Path()
    pkey_index = Number(U16, "PKey index")
    alt_pkey_index = Number(U16, "Alt. PKey index")
    en_sqd_async_notify = Number(U8, "En. SQD async notify")
    sq_draining = Number(U8, "SQ draining")
    max_rd_atomic = Number(U8, "Max RD atomic")
    max_dest_rd_atomic = Number(U8, "Max dest. RD atomic")
    min_rnr_timer = Number(U8, "Min RNR timer")
    port_num = Number(U8, "Port number")
    timeout = Number(U8, "Timeout")
    retry_cnt = Number(U8, "Retry counter")
    rnr_retry = Number(U8, "RNR retry")
    alt_port_num = Number(U8, "Alt. port number")
    alt_timeout = Number(U8, "Alt. timeout")
    rate_limit = Number(U32, "Rate limit")

    def __init__(
        self, qp_state: int = QPState.INIT, cur_qp_state: int = QPState.RESET, port_num: int = 1,
        path_mtu: int = MTU.B1024,
    ) -> None:  # fmt: skip
        self._set(locals())
        self.paths = {"ah_attr": _nowhere(), "alt_ah_attr": _nowhere()}

    def take_path(self, name: str, ah_attr: AHAttr | None) -> None:
        """Copy an address to `ah_attr` or `alt_ah_attr`; None leaves it unchanged."""
        expect("ah_attr", ah_attr, AHAttr)
        if ah_attr is not None:
            self.paths[name] = _copied(ah_attr)

    def _copy_ah(self, ah_attr: AHAttr | None, is_alt: bool = False) -> None:
        self.take_path("alt_ah_attr" if is_alt else "ah_attr", ah_attr)

    def as_arguments(self, mask: int) -> dict[str, object]:
        """The attr of a command modify_qp: the fields that the mask names."""
        found: dict[str, object] = {}
        for name, row in ATTRIBUTES.items():
            if not mask & row.mask:
                continue
            if name in self.paths:
                found[name] = as_arguments(self.paths[name])
            else:
                found[name] = self.numbers(CAPS) if name == "cap" else self.c.get(name, 0)
        return found

    def __str__(self) -> str:
        rows, paths = self._rows(), self.paths
        return "".join((
            table(rows[:_BEFORE_CAPS]),
            "QP caps:\n",
            table(cap_rows(self), _INNER),
            "AH Attr:\n",
            _path_text(paths["ah_attr"]),
            "Alt. AH Attr:\n",
            _path_text(paths["alt_ah_attr"]),
            table(rows[_BEFORE_CAPS:]),
        ))  # fmt: skip


def _path_text(attr: AHAttr) -> str:
    return table(attr.rows(with_port=True), _INNER) + table(attr.route_rows(), _DEEP)


class ECE(Struct, PyverbsCM):
    """`ibv_ece`: extended connection establishment, which no device of the lab has."""

    _HEAD, _LINE = "ECE:\n", "{:22}: 0x{:<20x}\n"
    vendor_id = Number(UINT32, "Vendor ID")
    options = Number(UINT32, "Options")
    comp_mask = Number(UINT32, "Comp Mask")

    def __init__(self, vendor_id: int = 0, options: int = 0, comp_mask: int = 0) -> None:
        self._set(locals())


class QPRateLimitAttr(Struct):
    """`ibv_qp_rate_limit_attr`; rate_limit in kbit/s, 0: unlimited."""

    rate_limit = Number(UINT32, "Rate limit (kbps)")
    max_burst_sz = Number(UINT32, "Max burst size")
    typical_pkt_sz = Number(U16, "Typical packet size")
    comp_mask = Number(UINT32, "Comp mask")

    def __init__(
        self, rate_limit: int = 0, max_burst_sz: int = 0, typical_pkt_sz: int = 0,
        comp_mask: int = 0,
    ) -> None:  # fmt: skip
        self._set(locals())


def address(found: AhAttr | None) -> AHAttr:
    """An address of the lab as an AHAttr; None: one of port 0."""
    if found is None:
        return _nowhere()
    route = None
    if found.is_global:
        route = GlobalRoute(
            GID(text_of(found.dgid)), found.flow_label, found.sgid_index, found.hop_limit,
            found.traffic_class,
        )  # fmt: skip
    return AHAttr(
        found.dlid, found.sl, found.src_path_bits, found.static_rate, found.is_global,
        found.port_num, route,
    )  # fmt: skip
