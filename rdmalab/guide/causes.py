"""What is usually behind a completion status, likeliest first, and the command that tests it.

In the commands A posted the work, B is its peer, and both queue pairs are called qp0. EVIDENCE
tells what the wire shows of a status.
"""

from typing import NamedTuple

from rdmalab.spec.statuses import WCStatus


class Cause(NamedTuple):
    """Why it may be so, and what to type to know."""

    sentence: str
    test: str


_S = WCStatus
_NONE: tuple[Cause, ...] = ()

CAUSES: dict[WCStatus, tuple[Cause, ...]] = {
    _S.SUCCESS: _NONE,
    _S.LOC_LEN_ERR: (
        Cause("the receive is smaller than the message", "show rq B.qp0"),
        Cause("the message is longer than max_msg_sz", "show sq A.qp0"),
    ),
    _S.LOC_QP_OP_ERR: (
        Cause("the opcode is not one of this QP type", "explain RC"),
        Cause("profile rxe: an unknown lkey", "show mr A.mr0"),
    ),
    _S.LOC_EEC_OP_ERR: _NONE,
    _S.LOC_PROT_ERR: (
        Cause("the range leaves its region", "show sq A.qp0"),
        Cause("the region was deregistered before the HCA touched it", "show mr A.mr0"),
        Cause("data comes in and the region lacks LOCAL_WRITE", "show mr A.mr0"),
        Cause("an SGE of length 0 means 2^31 bytes in strict", "explain zero_sge_bytes"),
    ),
    _S.WR_FLUSH_ERR: (
        Cause("an earlier request failed and took the QP to ERR", "show story last=20"),
        Cause("somebody moved the QP to ERR", "query_qp A.qp0"),
    ),
    _S.MW_BIND_ERR: (
        Cause("the region lacks MW_BIND", "show mr A.mr0"),
        Cause("the window is larger than its region", "show mr A.mr0"),
    ),
    _S.BAD_RESP_ERR: (
        Cause("a fault made an answer unfit", "faults"),
        Cause("the two ends disagree on path_mtu", "query_qp B.qp0"),
    ),
    _S.LOC_ACCESS_ERR: (Cause("a WRITE with immediate met a bad buffer", "show rq B.qp0"),),
    _S.REM_INV_REQ_ERR: (
        Cause("the peer's receive is too small", "show rq B.qp0"),
        Cause("its qp_access_flags lack the operation", "query_qp B.qp0"),
        Cause("its max_dest_rd_atomic is 0, or too small", "query_qp B.qp0"),
        Cause("the two ends disagree on path_mtu", "query_qp B.qp0"),
    ),
    _S.REM_ACCESS_ERR: (
        Cause("the rkey is stale, mistyped, or an lkey", "show mr B.mr0"),
        Cause("the range leaves the peer's region", "show mr B.mr0"),
        Cause("the region lacks the REMOTE_ right", "show mr B.mr0"),
        Cause("the peer's QP is in another PD", "show qp B.qp0"),
    ),
    _S.REM_OP_ERR: (
        Cause("the peer's receive has a bad lkey or no LOCAL_WRITE", "show rq B.qp0"),
        Cause("the peer's CQ is full", "show cq B.cq0"),
    ),
    _S.RETRY_EXC_ERR: (
        Cause("the peer is not in RTR, or in ERR", "query_qp B.qp0"),
        Cause("dest_qp_num or the address is wrong", "query_qp A.qp0"),
        Cause("the PSNs do not fit: peer's rq_psn = own sq_psn", "query_qp B.qp0"),
        Cause("the cable loses packets, or is unplugged", "faults"),
    ),
    _S.RNR_RETRY_EXC_ERR: (
        Cause("the peer posted no receive, or too few", "show rq B.qp0"),
        Cause("rnr_retry is too small for the peer's pace", "query_qp A.qp0"),
        Cause("the peer's min_rnr_timer is too short", "query_qp B.qp0"),
    ),
    _S.LOC_RDD_VIOL_ERR: _NONE,
    _S.REM_INV_RD_REQ_ERR: _NONE,
    _S.REM_ABORT_ERR: (Cause("the peer gave the operation up", "show story last=20"),),
    _S.INV_EECN_ERR: _NONE,
    _S.INV_EEC_STATE_ERR: _NONE,
    _S.FATAL_ERR: (Cause("the device is dead", "show story last=20"),),
    _S.RESP_TIMEOUT_ERR: _NONE,
    _S.GENERAL_ERR: (Cause("look at vendor_err of the completion", "show story last=20"),),
    _S.TM_ERR: _NONE,
    _S.TM_RNDV_INCOMPLETE: _NONE,
}

EVIDENCE: dict[WCStatus, str] = {
    _S.SUCCESS: "RC: an ACK, READ data or an atomic's result; UC and UD: the packet left",
    _S.LOC_PROT_ERR: "a send that fails stops in the middle: the packet at fault never leaves",
    _S.BAD_RESP_ERR: "an answer of another kind or length than was asked for",
    _S.RETRY_EXC_ERR: "the same PSN leaves retry_cnt + 1 times and no answer that fits comes",
    _S.RNR_RETRY_EXC_ERR: "rnr_retry + 1 RNR NAKs with the PSN of the request",
}
