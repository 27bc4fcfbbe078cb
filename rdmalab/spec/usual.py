"""The values of the attributes of a connection that the bring-up document recommends."""

from rdmalab.spec.access import Access
from rdmalab.spec.states import MTU

USUAL: dict[str, int] = {
    "pkey_index": 0, "port_num": 1, "qp_access_flags": Access.REMOTE_WRITE, "qkey": 0x11111111,
    "path_mtu": MTU.B512, "rq_psn": 0, "sq_psn": 0, "max_dest_rd_atomic": 1, "min_rnr_timer": 12,
    "timeout": 14, "retry_cnt": 7, "rnr_retry": 7, "max_rd_atomic": 1,
}  # fmt: skip
"""By the names of `modify_qp`; the Q_Key is one that only the programs can choose."""


def usual_word(name: str) -> str:
    """The usual value of an attribute as `modify_qp` takes it; "" if it has none."""
    match USUAL.get(name):
        case None:
            return ""
        case MTU() as mtu:
            return str(mtu.octets)
        case Access() as right:
            return right.name or ""
        case number:
            return f"{number:#x}" if name == "qkey" else str(number)
