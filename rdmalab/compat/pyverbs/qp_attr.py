"""What modify_qp takes and query_qp returns."""

from typing import Any

from rdmalab.compat.pyverbs.addr import GID, AHAttr, GlobalRoute, text_of, told
from rdmalab.compat.pyverbs.base import (
    PyverbsCM,
)
from rdmalab.compat.pyverbs.c_types import U8, U16, U32, UINT32, enum
from rdmalab.compat.pyverbs.qp_cap import Cap, Sized
from rdmalab.compat.pyverbs.struct import Number, Struct, expect, table
from rdmalab.compat.pyverbs.utils import (
    access_flags_to_str,
    mig_state_to_str,
    mtu_to_str,
    qp_state_to_str,
)
from rdmalab.spec.states import ATTRIBUTES, MTU, QPState

__name__ = "rdmalab.compat.pyverbs.qp"  # the module of pyverbs that has its names

_INNER = "  {:22}: {:<20}\n"
_DEEP = "    {:22}: {:<20}\n"


class _Path:
    """An address as one attribute of QPAttr: copied both ways."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, struct: "QPAttr | None", owner: type | None = None) -> Any:
        if struct is None:
            return self
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


class QPAttr(Sized):
    """`ibv_qp_attr`."""

    __slots__ = ("paths",)
    qp_state = Number(enum("ibv_qp_state"))
    cur_qp_state = Number(enum("ibv_qp_state"))
    path_mtu = Number(enum("ibv_mtu"))
    path_mig_state = Number(enum("ibv_mig_state"))
    qkey = Number(U32)
    rq_psn = Number(U32)
    sq_psn = Number(U32)
    dest_qp_num = Number(U32)
    qp_access_flags = Number(U32)
    cap = Cap()
    ah_attr = _Path()
    alt_ah_attr = _Path()
    pkey_index = Number(U16)
    alt_pkey_index = Number(U16)
    en_sqd_async_notify = Number(U8)
    sq_draining = Number(U8)
    max_rd_atomic = Number(U8)
    max_dest_rd_atomic = Number(U8)
    min_rnr_timer = Number(U8)
    port_num = Number(U8)
    timeout = Number(U8)
    retry_cnt = Number(U8)
    rnr_retry = Number(U8)
    alt_port_num = Number(U8)
    alt_timeout = Number(U8)
    rate_limit = Number(U32)

    def __init__(
        self, qp_state: int = QPState.INIT, cur_qp_state: int = QPState.RESET, port_num: int = 1,
        path_mtu: int = MTU.B1024,
    ) -> None:  # fmt: skip
        self._set(
            qp_state=qp_state, cur_qp_state=cur_qp_state, port_num=port_num, path_mtu=path_mtu
        )
        self.paths = {"ah_attr": _nowhere(), "alt_ah_attr": _nowhere()}

    def take_path(self, name: str, ah_attr: AHAttr | None) -> None:
        """A copy of an address; None leaves what is there."""
        expect("ah_attr", ah_attr, AHAttr)
        if ah_attr is not None:
            self.paths[name] = _copied(ah_attr)

    def _copy_ah(self, ah_attr: AHAttr | None, is_alt: bool = False) -> None:
        self.take_path("alt_ah_attr" if is_alt else "ah_attr", ah_attr)

    def told(self, mask: int) -> dict[str, Any]:
        """What the mask names, as the lab's words take it."""
        found: dict[str, Any] = {}
        for name, row in ATTRIBUTES.items():
            if not mask & row.mask:
                continue
            if name in self.paths:
                found[name] = told(self.paths[name])
            else:
                found[name] = self.sizes() if name == "cap" else self.c.get(name, 0)
        return found

    def __str__(self) -> str:
        caps = ("send WR", "recv WR", "send SGE", "recv SGE", "inline data")
        sizes = zip(caps, self.sizes().values(), strict=True)
        return "".join((
            table((
                ("QP state", qp_state_to_str(self.qp_state)),
                ("QP current state", qp_state_to_str(self.cur_qp_state)),
                ("Path MTU", mtu_to_str(self.path_mtu)),
                ("Path mig. state", mig_state_to_str(self.path_mig_state)),
                ("QKey", self.qkey),
                ("RQ PSN", self.rq_psn),
                ("SQ PSN", self.sq_psn),
                ("Dest QP number", self.dest_qp_num),
                ("QP access flags", access_flags_to_str(self.qp_access_flags)),
            )),
            "QP caps:\n",
            table(((f"max {label}", size) for label, size in sizes), _INNER),
            "AH Attr:\n",
            _path_text(self.paths["ah_attr"]),
            "Alt. AH Attr:\n",
            _path_text(self.paths["alt_ah_attr"]),
            table((
                ("PKey index", self.pkey_index),
                ("Alt. PKey index", self.alt_pkey_index),
                ("En. SQD async notify", self.en_sqd_async_notify),
                ("SQ draining", self.sq_draining),
                ("Max RD atomic", self.max_rd_atomic),
                ("Max dest. RD atomic", self.max_dest_rd_atomic),
                ("Min RNR timer", self.min_rnr_timer),
                ("Port number", self.port_num),
                ("Timeout", self.timeout),
                ("Retry counter", self.retry_cnt),
                ("RNR retry", self.rnr_retry),
                ("Alt. port number", self.alt_port_num),
                ("Alt. timeout", self.alt_timeout),
                ("Rate limit", self.rate_limit),
            )),
        ))  # fmt: skip


def _path_text(attr: AHAttr) -> str:
    return table(attr.rows(with_port=True), _INNER) + table(attr.route_rows(), _DEEP)


class ECE(Struct, PyverbsCM):
    """`ibv_ece`."""

    __slots__ = ()
    vendor_id = Number(UINT32)
    options = Number(UINT32)
    comp_mask = Number(UINT32)

    def __init__(self, vendor_id: int = 0, options: int = 0, comp_mask: int = 0) -> None:
        self._set(vendor_id=vendor_id, options=options, comp_mask=comp_mask)

    def __str__(self) -> str:
        rows = (
            ("Vendor ID", self.vendor_id),
            ("Options", self.options),
            ("Comp Mask", self.comp_mask),
        )
        return "ECE:\n" + table(rows, "{:22}: 0x{:<20x}\n")


class QPRateLimitAttr(Struct):
    """`ibv_qp_rate_limit_attr`; rate_limit in kbit/s, 0: unlimited."""

    __slots__ = ()
    rate_limit = Number(UINT32)
    max_burst_sz = Number(UINT32)
    typical_pkt_sz = Number(U16)
    comp_mask = Number(UINT32)

    def __init__(
        self, rate_limit: int = 0, max_burst_sz: int = 0, typical_pkt_sz: int = 0,
        comp_mask: int = 0,
    ) -> None:  # fmt: skip
        self._set(
            rate_limit=rate_limit, max_burst_sz=max_burst_sz, typical_pkt_sz=typical_pkt_sz,
            comp_mask=comp_mask,
        )  # fmt: skip

    def __str__(self) -> str:
        return table(
            (
                ("Rate limit (kbps)", self.rate_limit),
                ("Max burst size", self.max_burst_sz),
                ("Typical packet size", self.typical_pkt_sz),
                ("Comp mask", self.comp_mask),
            )
        )


def address(found: Any) -> AHAttr:
    """An address of the lab as an AHAttr."""
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
