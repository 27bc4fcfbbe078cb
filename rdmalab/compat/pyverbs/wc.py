"""Work completions."""

from rdmalab.compat.pyverbs.c_types import INT, U32, U64, enum
from rdmalab.compat.pyverbs.struct import Number, Struct
from rdmalab.hca.wr import Cqe
from rdmalab.spec.c_names import full_name
from rdmalab.spec.completions import WcEx
from rdmalab.spec.statuses import WCStatus

__name__ = "rdmalab.compat.pyverbs.cq"  # the module of pyverbs that has its names


_STATUS = {
    WCStatus.SUCCESS: "success",
    WCStatus.LOC_LEN_ERR: "local length error",
    WCStatus.LOC_QP_OP_ERR: "local QP op error",
    WCStatus.LOC_EEC_OP_ERR: "local EEC op error",
    WCStatus.LOC_PROT_ERR: "local protection error",
    WCStatus.WR_FLUSH_ERR: "WR flush error",
    WCStatus.MW_BIND_ERR: "memory window bind error",
    WCStatus.BAD_RESP_ERR: "bad response error",
    WCStatus.LOC_ACCESS_ERR: "local access error",
    WCStatus.REM_INV_REQ_ERR: "remote invalidate request error",
    WCStatus.REM_ACCESS_ERR: "remote access error",
    WCStatus.REM_OP_ERR: "remote op error",
    WCStatus.RETRY_EXC_ERR: "retry exceeded error",
    WCStatus.RNR_RETRY_EXC_ERR: "RNR retry exceeded",
    WCStatus.LOC_RDD_VIOL_ERR: "local RDD violation error",
    WCStatus.REM_INV_RD_REQ_ERR: "remote invalidate RD request error",
    WCStatus.REM_ABORT_ERR: "remote abort error",
    WCStatus.INV_EECN_ERR: "invalidate EECN error",
    WCStatus.INV_EEC_STATE_ERR: "invalidate EEC state error",
    WCStatus.FATAL_ERR: "WC fatal error",
    WCStatus.RESP_TIMEOUT_ERR: "response timeout error",
    WCStatus.GENERAL_ERR: "general error",
}
_OPCODES = {
    0x00: "Send", 0x01: "RDMA write", 0x02: "RDMA read", 0x03: "Compare and swap",
    0x04: "Fetch and add", 0x05: "Bind Memory window", 0x06: "Local invalidate", 0x07: "TSO",
    0x80: "Receive", 0x81: "Receive RDMA with immediate", 0x82: "Tag matching - add",
    0x83: "Tag matching - delete", 0x84: "Tag matching - sync", 0x85: "Tag matching - receive",
    0x86: "Tag matching - no tag", 0x87: "Driver WR",
}  # fmt: skip
_FLAGS = {
    1: "GRH", 2: "With immediate", 4: "IP csum OK", 8: "With invalidate", 16: "TM sync request",
    32: "TM match", 64: "TM data valid",
}  # fmt: skip


def cqe_status_to_str(status: int, /) -> str:
    """An ibv_wc_status in words, as pyverbs has them."""
    return {int(each): text for each, text in _STATUS.items()}.get(status, "Unknown CQE status")


def cqe_opcode_to_str(opcode: int, /) -> str:
    """An ibv_wc_opcode in words, as pyverbs has them."""
    return _OPCODES.get(opcode, f"Unknown CQE opcode {opcode}")


def flags_to_str(flags: int, dictionary: dict[int, str]) -> str:
    """The text of each bit that is set, followed by a blank."""
    return "".join(f"{text} " for flag, text in dictionary.items() if flags & flag)


def cqe_flags_to_str(flags: int, /) -> str:
    """The meaning of each bit of WC.wc_flags, followed by a blank."""
    return flags_to_str(flags, _FLAGS)


def create_wc_flags_to_str(flags: int, /) -> str:
    """The IBV_WC_EX_WITH_ names of CqInitAttrEx.wc_flags, each followed by a blank."""
    shown = [each for each in WcEx if each is not WcEx.TM_INFO]
    return flags_to_str(flags, {int(each): full_name(each) for each in shown})


class WcTmInfo(Struct):
    """`ibv_wc_tm_info`."""

    tag = Number(U64)
    priv = Number(U32)


class WC(Struct):
    """`ibv_wc`."""

    wr_id = Number(U64, "WR ID")
    status = Number(enum("ibv_wc_status"), "status", cqe_status_to_str)
    opcode = Number(enum("ibv_wc_opcode"), "opcode", cqe_opcode_to_str)
    vendor_err = Number(U32, "vendor error")
    byte_len = Number(U32, "byte length")
    qp_num = Number(U32, "QP num")
    src_qp = Number(U32, "source QP")
    wc_flags = Number(INT, "WC flags", cqe_flags_to_str)
    pkey_index = Number(U32, "pkey index", kept=16)
    slid = Number(U32, "slid", kept=16)
    sl = Number(U32, "sl", kept=8)
    imm_data = Number(U32, "imm_data")
    dlid_path_bits = Number(U32, "dlid path bits", kept=8)

    def __init__(
        self, wr_id: int = 0, status: int = 0, opcode: int = 0, vendor_err: int = 0,
        byte_len: int = 0, qp_num: int = 0, src_qp: int = 0, imm_data: int = 0, wc_flags: int = 0,
        pkey_index: int = 0, slid: int = 0, sl: int = 0, dlid_path_bits: int = 0,
    ) -> None:  # fmt: skip
        self._set(locals())


def wc_of(cqe: Cqe) -> WC:
    """A completion of the lab; its numbers fit their fields, because a device made them."""
    wc = WC.__new__(WC)
    slid, sl, dlid_path_bits = cqe.route
    wc.c = {
        "wr_id": cqe.wr_id, "status": int(cqe.status), "opcode": int(cqe.opcode),
        "vendor_err": int(cqe.vendor_err), "byte_len": cqe.byte_len, "qp_num": cqe.qp_num,
        "src_qp": cqe.src_qp, "imm_data": cqe.imm_data, "wc_flags": int(cqe.wc_flags),
        "slid": slid, "sl": sl, "dlid_path_bits": dlid_path_bits,
    }  # fmt: skip
    return wc
