"""Structs that modify_qp takes and query_qp returns."""

from typing import Self, overload

from rdmalab.compat.pyverbs.addr import GID, AHAttr, GlobalRoute, as_arguments, text_of
from rdmalab.compat.pyverbs.base import PyverbsCM
from rdmalab.compat.pyverbs.c_types import U8, U16, U32, UINT32, enum
from rdmalab.compat.pyverbs.qp_cap import CAPS, Cap, cap_rows
from rdmalab.compat.pyverbs.struct import Number, Struct, expect, table
from rdmalab.compat.pyverbs.utils import (
    access_flags_to_str,
    mig_state_to_str,
    mtu_to_str,
    qp_state_to_str,
)
from rdmalab.hca.attributes import AhAttr
from rdmalab.spec.states import ATTRIBUTES, MTU, QPState

__name__ = "rdmalab.compat.pyverbs.qp"  # the module of pyverbs that has its names

_INNER = "  {:22}: {:<20}\n"
_DEEP = "    {:22}: {:<20}\n"
_BEFORE_CAPS = 9  # fields of QPAttr that its table shows first


class _Path:
    """An address as one attribute of QPAttr: copied both ways."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, struct: None, owner: type | None = None) -> Self: ...
    @overload
    def __get__(self, struct: "QPAttr", owner: type | None = None) -> AHAttr: ...
    def __get__(self, struct: "QPAttr | None", owner: type | None = None) -> Self | AHAttr:
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

    __slots__ = ()
    _HEAD, _LINE = "ECE:\n", "{:22}: 0x{:<20x}\n"
    vendor_id = Number(UINT32, "Vendor ID")
    options = Number(UINT32, "Options")
    comp_mask = Number(UINT32, "Comp Mask")

    def __init__(self, vendor_id: int = 0, options: int = 0, comp_mask: int = 0) -> None:
        self._set(locals())


class QPRateLimitAttr(Struct):
    """`ibv_qp_rate_limit_attr`; rate_limit in kbit/s, 0: unlimited."""

    __slots__ = ()
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
