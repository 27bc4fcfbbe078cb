"""The attributes of a queue pair, as `modify_qp` takes them and as the QP keeps them."""

import dataclasses
from collections.abc import Iterable
from typing import Annotated, Any

from rdmalab.command import Alias, Bits, InC, Noun, RefShorthand, Spelled, Thing, Unit
from rdmalab.spec.access import Access
from rdmalab.spec.row import dataclass
from rdmalab.spec.states import ATTRIBUTES, MTU, Attr, MigState, QPState

Fields = dict[str, Any]

MTU_IN_BYTES = Spelled({str(mtu.octets): int(mtu) for mtu in MTU})
Gid = Annotated[int, Unit.GID, Bits(128)]
U8 = Annotated[int, Bits(8)]


@dataclass(slots=True)
class AhAttr:
    """`ibv_ah_attr` with its GRH, flattened.

    RoCE needs is_global=1, dgid and sgid_index; InfiniBand needs dlid, and these for a GRH.
    """

    C_NAME = "ibv_ah_attr"

    is_global: U8 = 0
    dgid: Annotated[Gid, InC("grh.dgid")] = 0
    sgid_index: Annotated[U8, InC("grh.sgid_index")] = 0
    hop_limit: Annotated[U8, InC("grh.hop_limit")] = 0
    traffic_class: Annotated[U8, InC("grh.traffic_class")] = 0
    flow_label: Annotated[int, Bits(32), InC("grh.flow_label")] = 0
    port_num: U8 = 1
    dlid: Annotated[int, Bits(16)] = 0
    sl: U8 = 0
    static_rate: U8 = 0
    src_path_bits: U8 = 0


# Bytes in a send ring; the shape is that of ConnectX: control and address, then pieces, in blocks.
_WQE_HEADER, SGE_BYTES, INLINE_HEADER, WQE_BLOCK, LONGEST_WQE = 32, 16, 4, 64, 1024


def _up_to_whole(octets: int, block: int) -> int:
    return -(-octets // block) * block


def recv_wqe_bytes(pieces: int, least: int) -> int:
    """The bytes of a receive WQE of so many pieces of 16 bytes: a power of two (mlx5)."""
    return SGE_BYTES << (max(pieces, least) - 1).bit_length()


@dataclass(slots=True)
class Capacity:
    """`ibv_qp_cap`, in WRs, SGEs and bytes."""

    C_NAME = "ibv_qp_cap"

    max_send_wr: int = 16
    max_recv_wr: int = 16
    max_send_sge: int = 4
    max_recv_sge: int = 4
    max_inline_data: int = 64

    @property
    def wqe_bytes(self) -> int:
        """The bytes of one send WQE: its header, then its SGEs or its inline bytes."""
        inline = INLINE_HEADER + self.max_inline_data if self.max_inline_data else 0
        body = max(self.max_send_sge * SGE_BYTES, inline)
        return _up_to_whole(_WQE_HEADER + body, WQE_BLOCK)

    def inline_room(self, header: int, max_tso_header: int) -> int:
        """The inline bytes of a send WQE whose first `header` bytes are taken: mlx5_calc_sq_size.

        It also has room for the packet header of a TSO request, of up to so many bytes.
        """
        inline = self.max_inline_data and _up_to_whole(
            INLINE_HEADER + self.max_inline_data, SGE_BYTES
        )
        body = max(_up_to_whole(max_tso_header, SGE_BYTES) + self.max_send_sge * SGE_BYTES, inline)
        return _up_to_whole(header + body, WQE_BLOCK) - header - INLINE_HEADER

    @property
    def sq_bytes(self) -> int:
        """The bytes of the whole send queue."""
        return self.max_send_wr * self.wqe_bytes


def _qpn_of(_world: object, thing: Thing, _start: int | None, _stop: int | None) -> int:
    return thing.number


@dataclass(slots=True)
class QpAttr:
    """`ibv_qp_attr`: a field left out stays out of the mask."""

    C_NAME = "ibv_qp_attr"

    qp_state: Annotated[QPState | None, Alias("state")] = None
    cur_qp_state: QPState | None = None
    path_mtu: Annotated[MTU | None, MTU_IN_BYTES] = None
    path_mig_state: MigState | None = None
    qkey: int | None = None
    rq_psn: int | None = None
    sq_psn: int | None = None
    dest_qp_num: Annotated[int | None, RefShorthand(Noun.QP, _qpn_of)] = None
    qp_access_flags: Access | None = None
    ah_attr: AhAttr | None = None
    pkey_index: int | None = None
    en_sqd_async_notify: int | None = None
    max_rd_atomic: int | None = None
    max_dest_rd_atomic: int | None = None
    min_rnr_timer: int | None = None
    port_num: int | None = None
    timeout: int | None = None
    retry_cnt: int | None = None
    rnr_retry: int | None = None
    alt_ah_attr: AhAttr | None = None
    alt_pkey_index: int | None = None
    alt_port_num: int | None = None
    alt_timeout: int | None = None
    rate_limit: int | None = None
    cap: Capacity | None = None

    def given(self) -> Fields:
        """The fields that have a value, by name."""
        return {name: value for name in FIELDS if (value := getattr(self, name)) is not None}


FIELDS = tuple(f.name for f in dataclasses.fields(QpAttr))


def mask_of(names: Iterable[str]) -> Attr:
    """The `attr_mask` that these fields need."""
    mask = Attr(0)
    for name in names:
        mask |= ATTRIBUTES[name].mask
    return mask


# Records; and a claim about the state is no attribute that a QP has.
_WITHOUT_DEFAULT = ("ah_attr", "alt_ah_attr", "cap", "cur_qp_state")  # asked of the queue pair


def initial() -> QpAttr:
    """The attributes that `query_qp` returns for a new QP."""
    defaults: Fields = {
        name: ATTRIBUTES[name].default for name in FIELDS if name not in _WITHOUT_DEFAULT
    }
    none, no_other = AhAttr(port_num=0), AhAttr(port_num=0)
    return QpAttr(ah_attr=none, alt_ah_attr=no_other, **defaults)
