"""Vendor error codes of completions: what each device model writes, and which codes were observed on ConnectX.

The maker of ConnectX publishes no list. Sources: unionxic/rdma-fault-characterization measured
0x52 (unknown lkey), 0x53 (SGE beyond the MR), 0x33 (MR without LOCAL_WRITE), 0x81, 0x87, 0x88, 0x8a
and 0xf5; openucx/ucx issues 5472 (0x89), 1151 and 3618 (0x68); linux-rdma/perftest issue 173
(0x51); 0xf4 and 0xf9 stand beside flushed requests in logs of other adapters. No report was found
for LOC_LEN_ERR, MW_BIND_ERR, BAD_RESP_ERR and LOC_ACCESS_ERR.
"""

from typing import TYPE_CHECKING

from rdmalab.spec.row import dataclass
from rdmalab.spec.statuses import WCStatus

if TYPE_CHECKING:
    from collections.abc import Mapping

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


# The check of a send's own buffers that failed, where a code of its own was measured.
LKEY, RANGE, LOCAL_WRITE = 0x52, 0x53, 0x33


@dataclass(frozen=True, slots=True)
class VendorErrors:
    """vendor_err of failed requests on one device model. words: its description in `explain`."""

    words: str
    codes: "Mapping[WCStatus, int]"
    tells_check: bool = False

    def __str__(self) -> str:
        return self.words

    def code(self, status: WCStatus, failed: int | None = None) -> int:
        """vendor_err beside `status`; failed: LKEY, RANGE or LOCAL_WRITE, if one is known."""
        status_here = failed if self.tells_check else None
        return self.codes.get(status, UNKNOWN) if status_here is None else status_here


NO_CODES = VendorErrors("0", {})
STATUS_CODES = VendorErrors("0x80 plus the status", {status: 0x80 | status for status in WCStatus})
CONNECTX_CODES = VendorErrors(
    "the codes observed on ConnectX; 0 for a status without a known code",
    {status: codes[0] for status, codes in CONNECTX.items()},
    tells_check=True,
)
