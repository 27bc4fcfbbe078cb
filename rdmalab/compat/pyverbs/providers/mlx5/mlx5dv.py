"""The direct verbs of mlx5: contexts, queues and what DevX reaches."""

from typing import TYPE_CHECKING

from rdmalab.compat.pyverbs.providers.mlx5 import mlx5_enums as dve
from rdmalab.compat.pyverbs.unsupported import Absent, stand_ins

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rdmalab.compat.pyverbs.device import FdArr

    def __getattr__(name: str) -> type[Absent]: ...


class Mlx5DVContextAttr:
    """Parameters to open a context: made before the device is asked, so this one is not refused."""

    def __init__(self, flags: int = 0, comp_mask: int = 0, fds: "FdArr | None" = None) -> None:
        """Keep what `Mlx5Context` would be asked with."""
        self.flags = flags
        self.comp_mask = comp_mask
        self.fds = fds


_CONTEXT_FLAGS: dict[int, str] = {
    dve.MLX5DV_CONTEXT_FLAGS_CQE_V1: "CQE v1",
    dve.MLX5DV_CONTEXT_FLAGS_MPW_ALLOWED: "Multi packet WQE allowed",
    dve.MLX5DV_CONTEXT_FLAGS_ENHANCED_MPW: "Enhanced multi packet WQE",
    dve.MLX5DV_CONTEXT_FLAGS_CQE_128B_COMP: "Support CQE 128B compression",
    dve.MLX5DV_CONTEXT_FLAGS_CQE_128B_PAD: "Support CQE 128B padding",
    dve.MLX5DV_CONTEXT_FLAGS_PACKET_BASED_CREDIT_MODE: (
        "Support packet based credit mode (in RC QP)"
    ),
}
_CQE_FORMATS: dict[int, str] = {
    dve.MLX5DV_CQE_RES_FORMAT_HASH: "with hash",
    dve.MLX5DV_CQE_RES_FORMAT_CSUM: "with RX checksum CSUM",
    dve.MLX5DV_CQE_RES_FORMAT_CSUM_STRIDX: "with stride index",
}


def bitmask_to_str(bits: int, values: "Mapping[int, str]") -> str:
    """The words of the bits that have one, and the number."""
    return f"{', '.join(word for bit, word in values.items() if bit & bits)} ({bits})"


def context_flags_to_str(flags: int) -> str:
    """Names of the capabilities of a context."""
    return bitmask_to_str(flags, _CONTEXT_FLAGS)


def cqe_comp_to_str(cqe: int) -> str:
    """Formats of compressed completions, in words."""
    return bitmask_to_str(cqe, _CQE_FORMATS)


stand_ins(
    globals(),
    "the lab's devices take no mlx5 direct verbs",
    {
        None: (
            "Mlx5CQ Mlx5Context Mlx5Cqe64 Mlx5DCIStreamInitAttr Mlx5DVCQInitAttr Mlx5DVContext "
            "Mlx5DVDCInitAttr Mlx5DVPortAttr Mlx5DVQPInitAttr Mlx5DevxCmdComp Mlx5DevxEq "
            "Mlx5DevxMsiVector Mlx5DevxObj Mlx5DmOpAddr Mlx5PP Mlx5QP Mlx5UAR Mlx5UMEM Mlx5VAR "
            "Mlx5VfioAttr Wqe WqeSeg"
        ),
        "WqeSeg": "WqeCtrlSeg WqeDataSeg",
    },
    static={
        "Mlx5Context": (
            "query_mlx5_port reserved_qpn_alloc reserved_qpn_dealloc crypto_login "
            "query_login_state crypto_logout device_timestamp_to_ns"
        ),
        "Mlx5QP": (
            "query_lag_port modify_lag_port modify_qp_sched_elem modify_udp_sport map_ah_to_qp "
            "modify_dci_stream_channel_id"
        ),
        "Mlx5DevxObj": "get_export_size import_obj",
        "Mlx5UMEM": "get_export_size import_umem",
        "Mlx5VAR": "get_export_size import_var",
        "WqeSeg": "sizeof",
    },
    other_device={"Mlx5Context": "This is not an MLX5 device"},
)
