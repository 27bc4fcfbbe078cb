"""What is usually behind a completion status, likeliest first, and the command that tests it.

In the commands A posted the work, B is its peer, and both queue pairs are called qp0. EVIDENCE
tells what the wire shows of a status.
"""

from typing import NamedTuple

from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.refusals import REQUESTER_STATUS, Syndrome
from rdmalab.spec.statuses import WCStatus


class Cause(NamedTuple):
    """Why it may be so, and what to type to know."""

    sentence: str
    test: str


_S = WCStatus
_NONE: tuple[Cause, ...] = ()

CAUSES: dict[WCStatus, tuple[Cause, ...]] = {
    _S.SUCCESS: (Cause("it went well: poll it, and its slot is free again", "show cq A.cq0"),),
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
    _S.LOC_ACCESS_ERR: (
        Cause("mlx5: the R_Key of a WRITE with immediate does not allow it", "show mr B.mr0"),
    ),
    _S.REM_INV_REQ_ERR: (
        Cause("the peer's receive is too small", "show rq B.qp0"),
        Cause("its qp_access_flags lack the operation", "query_qp B.qp0"),
        Cause("its max_dest_rd_atomic is 0, or too small", "query_qp B.qp0"),
        Cause("the two ends disagree on path_mtu", "query_qp B.qp0"),
        Cause("the window to invalidate is not bound by this QP", "show mw B.mw0"),
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
    _S.LOC_LEN_ERR: "send: nothing leaves",
    _S.LOC_QP_OP_ERR: "send: nothing leaves",
    _S.LOC_PROT_ERR: "send: it stops in the middle, the packet at fault never leaves",
    _S.WR_FLUSH_ERR: "nothing of it, or what left before the queue pair died",
    _S.MW_BIND_ERR: "nothing: a bind is local",
    _S.BAD_RESP_ERR: "an answer of another kind or length than was asked for",
    _S.RETRY_EXC_ERR: "the same PSN leaves retry_cnt + 1 times and no answer that fits comes",
    _S.RNR_RETRY_EXC_ERR: "rnr_retry + 1 RNR NAKs with the PSN of the request",
    _S.LOC_ACCESS_ERR: "a NAK 0x62 to the sender of the WRITE with immediate",
    _S.REM_ABORT_ERR: "whatever the device had sent by then",
    _S.FATAL_ERR: "nothing more from this device",
    _S.GENERAL_ERR: "whatever the device had sent by then",
}

_E = AsyncEvent

# Why an asynchronous event came. Those without a row never come here.
EVENT_CAUSES: dict[AsyncEvent, tuple[Cause, ...]] = {
    _E.CQ_ERR: (
        Cause("the CQ is smaller than the queues that complete on it", "show cq A.cq0"),
        Cause("nobody polls it, or too slowly", "show story last=20"),
    ),
    _E.QP_FATAL: (
        Cause("a CQ of the queue pair overran", "show cq A.cq0"),
        Cause("the device died, or somebody killed the queue pair", "show story last=20"),
    ),
    _E.PATH_MIG: (
        Cause("retries on the first path were exhausted while the QP was ARMED", "show wire"),
        Cause("the peer migrated: a packet with MigReq=1 came on the alternate path", "show wire"),
        Cause("the program set path_mig_state=MIGRATED", "show story last=20"),
    ),
    _E.PATH_MIG_ERR: (
        Cause("the peer migrated to a path that is not the alternate one here", "query_qp B.qp0"),
        Cause("the peer migrated while this end was still in REARM", "query_qp B.qp0"),
        Cause("the P_Keys of the alternate path do not match", "query_qp B.qp0"),
    ),
    _E.QP_REQ_ERR: (
        Cause("the peer's request is not enabled in qp_access_flags", "query_qp B.qp0"),
        Cause("the peer has more READs under way than max_dest_rd_atomic", "query_qp B.qp0"),
        Cause("the two ends disagree on path_mtu", "query_qp A.qp0"),
    ),
    _E.QP_ACCESS_ERR: (
        Cause("the peer uses an rkey that is stale, mistyped or of another PD", "show mr B.mr0"),
        Cause("its range leaves the region, or a REMOTE_ right is lacking", "show mr B.mr0"),
    ),
    _E.COMM_EST: (Cause("the peer was in RTS first: go to RTS now", "show qp A.qp0"),),
    _E.SQ_DRAINED: (
        Cause("the program asked for it: state=SQD en_sqd_async_notify=1", "show sq A.qp0"),
    ),
    _E.DEVICE_FATAL: (Cause("a fault killed the device", "show story last=20"),),
    _E.PORT_ACTIVE: (Cause("the cable is back, or the port was told to go ACTIVE", "show port A"),),
    _E.PORT_ERR: (Cause("the cable is out, or the port was told to go DOWN", "show port A"),),
    _E.PKEY_CHANGE: (Cause("somebody changed the P_Key table", "show port A"),),
    _E.GID_CHANGE: (Cause("an address came or went", "show port A"),),
    _E.SRQ_ERR: (Cause("a fault broke the SRQ", "show srq B.srq0"),),
    _E.SRQ_LIMIT_REACHED: (
        Cause("receives are taken faster than they are posted", "show srq B.srq0"),
        Cause("it fires once an arming: modify_srq arms it again", "query_srq B.srq0"),
    ),
    _E.QP_LAST_WQE_REACHED: (Cause("a queue pair on an SRQ went to ERR", "show qp B.qp0"),),
    _E.DEVICE_SPEED_CHANGE: (Cause("the cable runs at another rate", "show link"),),
}

# What to look at where a responder refused a request.
REFUSAL_CAUSES: dict[str, tuple[Cause, ...]] = {
    "dying": (Cause("look for the refusal before it", "show story last=20"),),
    "sequence-gap": (
        Cause("the cable lost or reordered a packet", "faults"),
        Cause("rq_psn here is not sq_psn there", "query_qp B.qp0"),
    ),
    "rnr-wait": (Cause("no receive yet for the packet before it", "show rq B.qp0"),),
    "opcode-order": (
        Cause("a packet of the message was lost, forged or repeated", "show wire last=10"),
    ),
    "wrong-srq": (Cause("remote_srqn is none of this domain", "show srq B.srq0"),),
    "not-enabled": (Cause("qp_access_flags lack the right", "query_qp B.qp0"),),
    "no-depth": (Cause("max_dest_rd_atomic is 0", "query_qp B.qp0"),),
    "too-deep": (
        Cause("the sender's max_rd_atomic is larger than max_dest_rd_atomic", "query_qp A.qp0"),
    ),
    "no-receive": CAUSES[_S.RNR_RETRY_EXC_ERR],
    "length": (
        Cause("the two ends disagree on path_mtu", "query_qp A.qp0"),
        Cause("the packet was forged", "show wire last=10"),
    ),
    "rkey": CAUSES[_S.REM_ACCESS_ERR],
    "unaligned": (Cause("remote_addr is no multiple of 8", "show sq A.qp0"),),
    "receive-short": (Cause("the receive is smaller than the message", "show rq B.qp0"),),
    "receive-denied": (
        Cause("its lkey is wrong, stale or of another PD", "show rq B.qp0"),
        Cause("its region lacks LOCAL_WRITE", "show mr B.mr0"),
    ),
    "invalidate": (Cause("the window is of type 1, unbound or of another QP", "show mw B.mw0"),),
    "cq-overrun": (Cause("nobody polls the CQ, or it is too small", "show cq B.cq0"),),
}

# What to look at where an HCA dropped a packet.
DROP_CAUSES: dict[str, tuple[Cause, ...]] = {
    "malformed": (Cause("a fault corrupted it, or somebody injected it", "faults"),),
    "wrong-address": (Cause("dgid or destination MAC is nobody's here", "query_qp A.qp0"),),
    "wrong-link-layer": (
        Cause("the ports of the two nodes have different link layers", "query_port B"),
    ),
    "unknown-opcode": (Cause("somebody injected it", "show story last=20"),),
    "wrong-qpn": (
        Cause("dest_qp_num is wrong", "query_qp A.qp0"),
        Cause("the queue pair was destroyed", "show qp"),
    ),
    "wrong-type": (Cause("the two queue pairs are of different types", "show qp"),),
    "not-ready": (
        Cause("the queue pair is not in RTR yet", "show qp B.qp0"),
        Cause("it is in ERR", "show story last=20"),
    ),
    "wrong-source": (Cause("the peer's dest_qp_num or ah_attr names another", "query_qp B.qp0"),),
    "pkey": (Cause("pkey_index picks another P_Key there", "query_qp B.qp0"),),
    "qkey": (Cause("remote_qkey is not the qkey of the receiver", "query_qp B.qp0"),),
    "no-group": (Cause("nobody called attach_mcast, or for another gid", "show qp B.qp0"),),
    "no-flow": (Cause("no flow rule fits the frame", "show flow"),),
    "dying": REFUSAL_CAUSES["dying"],
    "duplicate-gone": (Cause("an atomic was repeated too late", "show wire last=10"),),
    "sequence-gap": REFUSAL_CAUSES["sequence-gap"],
    "rnr-wait": REFUSAL_CAUSES["rnr-wait"],
    "rest-of-message": (
        Cause("a packet before it was lost", "faults"),
        Cause("no receive was posted when the message began", "show rq B.qp0"),
    ),
    "ghost": (Cause("an answer that came twice, or too late", "show wire last=10"),),
    "port-down": (Cause("the link is down", "show port B"),),
}

# What to look at where a NAK came that the requester answers by sending again, or a fatal one.
SYNDROME_CAUSES: dict[Syndrome, tuple[Cause, ...]] = {
    **{Syndrome(code): CAUSES[status] for code, status in REQUESTER_STATUS.items()},
    Syndrome.RNR_NAK: CAUSES[_S.RNR_RETRY_EXC_ERR],
    Syndrome.NAK_SEQUENCE: REFUSAL_CAUSES["sequence-gap"],
}
