"""Work completion statuses: the text of each, on which CQE it appears, causes, effect at the peer."""

from enum import Flag, IntEnum
from typing import NamedTuple


class WCStatus(IntEnum):
    """IBV_WC_*, the status of a work completion."""

    SUCCESS = 0
    LOC_LEN_ERR = 1
    LOC_QP_OP_ERR = 2
    LOC_EEC_OP_ERR = 3
    LOC_PROT_ERR = 4
    WR_FLUSH_ERR = 5
    MW_BIND_ERR = 6
    BAD_RESP_ERR = 7
    LOC_ACCESS_ERR = 8
    REM_INV_REQ_ERR = 9
    REM_ACCESS_ERR = 10
    REM_OP_ERR = 11
    RETRY_EXC_ERR = 12
    RNR_RETRY_EXC_ERR = 13
    LOC_RDD_VIOL_ERR = 14
    REM_INV_RD_REQ_ERR = 15
    REM_ABORT_ERR = 16
    INV_EECN_ERR = 17
    INV_EEC_STATE_ERR = 18
    FATAL_ERR = 19
    RESP_TIMEOUT_ERR = 20
    GENERAL_ERR = 21
    TM_ERR = 22
    TM_RNDV_INCOMPLETE = 23


class Side(Flag):
    """The side whose completions can have a status."""

    NEITHER = 0
    SEND = 1
    RECV = 2
    BOTH = SEND | RECV


class StatusRow(NamedTuple):
    """The text of `ibv_wc_status_str`, the side of its CQE, its causes, what happens at the peer."""

    text: str
    side: Side
    cause: str
    peer: str


_S = WCStatus
_SEND, _RECV, _BOTH, _NONE = Side.SEND, Side.RECV, Side.BOTH, Side.NEITHER
_RD = "reliable datagram only, which no device offers"
_TM = "tag matching only, which is not emulated"

# fmt: off
STATUS: dict[WCStatus, StatusRow] = {
    _S.SUCCESS: StatusRow("success", _BOTH,
        "done",
        ""),
    _S.LOC_LEN_ERR: StatusRow("local length error", _BOTH,
        "send: longer than the port's max_msg_sz, or an atomic whose result space is not 8 bytes; "
        "receive: the message is longer than the receive (UD: than what is left after 40 bytes)",
        "the RC sender gets REM_INV_REQ_ERR"),
    _S.LOC_QP_OP_ERR: StatusRow("local QP operation error", _BOTH,
        "send: an address handle of another PD, an opcode the QP cannot do, a bad LOCAL_INV; "
        "receive: a malformed receive request",
        "after a receive error the RC sender gets REM_OP_ERR"),
    _S.LOC_EEC_OP_ERR: StatusRow("local EE context operation error", _NONE, _RD, ""),
    _S.LOC_PROT_ERR: StatusRow("local protection error", _BOTH,
        "an lkey that is unknown, stale or of another PD, a range outside its region, or no "
        "LOCAL_WRITE on a buffer to be written",
        "after a receive error the RC sender gets REM_OP_ERR; after a send error the peer gets no "
        "message"),
    _S.WR_FLUSH_ERR: StatusRow("Work Request Flushed Error", _BOTH,
        "the QP was in ERR (a send: or in SQE) while it was queued or posted; look for the first "
        "error before it",
        ""),
    _S.MW_BIND_ERR: StatusRow("memory management operation error", _SEND,
        "a memory window could not be bound or invalidated: stale key, PD, MW_BIND right, range, "
        "or bound already",
        ""),
    _S.BAD_RESP_ERR: StatusRow("bad response error", _SEND,
        "RC: the answer's opcode or length does not fit the request",
        "nothing"),
    _S.LOC_ACCESS_ERR: StatusRow("local access error", _RECV,
        "mlx5: the R_Key of a WRITE with immediate, which would complete this receive, does not "
        "allow it",
        "the RC sender gets REM_ACCESS_ERR"),
    _S.REM_INV_REQ_ERR: StatusRow("remote invalid request error", _BOTH,
        "send: NAK 0x61: receive too small, qp_access_flags, READ depth, opcode order, MTU, "
        "unaligned atomic; receive: such a request used it, or SEND_WITH_INV named no bound type "
        "2 window",
        "its QP goes to ERR, with an error CQE or QP_REQ_ERR; SEND_WITH_INV: explain invalidate"),
    _S.REM_ACCESS_ERR: StatusRow("remote access error", _SEND,
        "NAK 0x62: rkey, PD, range or rights at the peer, or a window that is not bound",
        "the responder's QP goes to ERR with QP_ACCESS_ERR"),
    _S.REM_OP_ERR: StatusRow("remote operation error", _SEND,
        "NAK 0x63: the peer could not finish: bad receive buffer or CQ overrun at the peer",
        "the responder has an error CQE and its QP goes to ERR"),
    _S.RETRY_EXC_ERR: StatusRow("transport retry counter exceeded", _SEND,
        "no valid answer after retry_cnt retries: peer failed or not in RTR, wrong QPN, GID or "
        "PSN, link down",
        "usually nothing; the state of its QP does not change"),
    _S.RNR_RETRY_EXC_ERR: StatusRow("RNR retry counter exceeded", _SEND,
        "the peer sent more RNR NAKs than rnr_retry allows: it had no receive posted",
        "nothing; its QP stays in its state"),
    _S.LOC_RDD_VIOL_ERR: StatusRow("local RDD violation error", _NONE, _RD, ""),
    _S.REM_INV_RD_REQ_ERR: StatusRow("remote invalid RD request", _NONE, _RD, ""),
    _S.REM_ABORT_ERR: StatusRow("aborted error", _BOTH,
        "the operation was aborted",
        ""),
    _S.INV_EECN_ERR: StatusRow("invalid EE context number", _NONE, _RD, ""),
    _S.INV_EEC_STATE_ERR: StatusRow("invalid EE context state", _NONE, _RD, ""),
    _S.FATAL_ERR: StatusRow("fatal error", _BOTH,
        "the device failed and cannot recover",
        ""),
    _S.RESP_TIMEOUT_ERR: StatusRow("response timeout error", _NONE,
        "no answer in time; no current driver reports it",
        ""),
    _S.GENERAL_ERR: StatusRow("general error", _BOTH,
        "an error that has no other status",
        ""),
    _S.TM_ERR: StatusRow("TM error", _NONE, _TM, ""),
    _S.TM_RNDV_INCOMPLETE: StatusRow("TM software rendezvous", _NONE, _TM, ""),
}
# fmt: on
