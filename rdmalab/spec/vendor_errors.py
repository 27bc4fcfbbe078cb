"""Vendor error codes of completions: what each device model writes, and what ConnectX was seen with.

The maker of ConnectX publishes no list. Sources: unionxic/rdma-fault-characterization measured
0x52 (unknown lkey), 0x53 (SGE beyond the MR), 0x33 (MR without LOCAL_WRITE), 0x81, 0x87, 0x88, 0x8a
and 0xf5; openucx/ucx issues 5472 (0x89), 1151 and 3618 (0x68); linux-rdma/perftest issue 173
(0x51); 0xf4 and 0xf9 stand beside flushed requests in logs of other adapters. No report was found
for LOC_LEN_ERR, MW_BIND_ERR, BAD_RESP_ERR and LOC_ACCESS_ERR.
"""

from enum import Enum

from rdmalab.spec.statuses import WCStatus

_S = WCStatus

# The first code of a status is the one that the lab writes.
CONNECTX: dict[WCStatus, tuple[int, ...]] = {
    _S.LOC_QP_OP_ERR: (0x68,),
    _S.LOC_PROT_ERR: (0x51, 0x52, 0x53, 0x33),
    _S.WR_FLUSH_ERR: (0xF5, 0xF4, 0xF9),
    _S.REM_INV_REQ_ERR: (0x8A,),
    _S.REM_ACCESS_ERR: (0x88,),
    _S.REM_OP_ERR: (0x89,),
    _S.RETRY_EXC_ERR: (0x81,),
    _S.RNR_RETRY_EXC_ERR: (0x87,),
}
SEEN_WITH: dict[int, WCStatus] = {code: s for s, codes in CONNECTX.items() for code in codes}
UNKNOWN = 0


class LocalCheck(Enum):
    """The check of a send's own buffers that failed, where a code of its own was measured."""

    LKEY = 0x52
    RANGE = 0x53
    LOCAL_WRITE = 0x33


class VendorErrors(Enum):
    """What vendor_err of a failed request holds."""

    NONE = "0"
    STATUS = "0x80 plus the status"
    CONNECTX = "the codes that ConnectX was seen with; 0 beside a status without a known code"

    def code(self, status: WCStatus, failed: LocalCheck | None = None) -> int:
        """vendor_err beside `status`; failed: the check of a send's buffers, if it is known."""
        if self is VendorErrors.STATUS:
            return 0x80 | status
        if self is VendorErrors.NONE:
            return UNKNOWN
        return failed.value if failed is not None else CONNECTX.get(status, (UNKNOWN,))[0]
