"""Completion queues: how a CQ is armed, and which fields an extended CQ can provide."""

from enum import IntEnum, IntFlag
from typing import NamedTuple


class Arm(IntEnum):
    """The completion that raises the next completion event; `ibv_req_notify_cq` sets it for one event."""

    NONE = 0
    SOLICITED = 1
    ANY = 2


class WcEx(IntFlag):
    """IBV_WC_EX_WITH_*: the fields that `ibv_create_cq_ex` makes readable."""

    BYTE_LEN = 1 << 0
    IMM = 1 << 1
    QP_NUM = 1 << 2
    SRC_QP = 1 << 3
    SLID = 1 << 4
    SL = 1 << 5
    DLID_PATH_BITS = 1 << 6
    COMPLETION_TIMESTAMP = 1 << 7
    CVLAN = 1 << 8
    FLOW_TAG = 1 << 9
    TM_INFO = 1 << 10
    COMPLETION_TIMESTAMP_WALLCLOCK = 1 << 11


STANDARD_FIELDS = (
    WcEx.BYTE_LEN | WcEx.IMM | WcEx.QP_NUM | WcEx.SRC_QP | WcEx.SLID | WcEx.SL | WcEx.DLID_PATH_BITS
)


class ReadRow(NamedTuple):
    """One `ibv_wc_read_*` function.

    flag: the bit that create_cq_ex must have been given, None for no bit. source: the field of the
    CQE that it reads, empty where no device of the lab fills the field (it reads 0). on_error: the
    field is also valid when the status is an error.
    """

    flag: WcEx | None
    source: str
    on_error: bool = False


# fmt: off
READS: dict[str, ReadRow] = {
    "opcode":                  ReadRow(None,                                "opcode"),
    "vendor_err":              ReadRow(None,                                "vendor_err", on_error=True),
    "wc_flags":                ReadRow(None,                                "wc_flags"),
    "byte_len":                ReadRow(WcEx.BYTE_LEN,                       "byte_len"),
    "imm_data":                ReadRow(WcEx.IMM,                            "imm_data"),
    "qp_num":                  ReadRow(WcEx.QP_NUM,                         "qp_num", on_error=True),
    "src_qp":                  ReadRow(WcEx.SRC_QP,                         "src_qp"),
    "slid":                    ReadRow(WcEx.SLID,                           "slid"),
    "sl":                      ReadRow(WcEx.SL,                             "sl"),
    "dlid_path_bits":          ReadRow(WcEx.DLID_PATH_BITS,                 "dlid_path_bits"),
    "completion_ts":           ReadRow(WcEx.COMPLETION_TIMESTAMP,           "at_ns"),
    "cvlan":                   ReadRow(WcEx.CVLAN,                          ""),
    "flow_tag":                ReadRow(WcEx.FLOW_TAG,                       ""),
    "completion_wallclock_ns": ReadRow(WcEx.COMPLETION_TIMESTAMP_WALLCLOCK, "at_ns"),
}
# fmt: on
