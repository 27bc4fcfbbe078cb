"""Work queue elements and completion queue elements: what a work request becomes on a queue."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rdmalab.hca.psn import MASK
from rdmalab.hca.wr import SGE, RecvWR, SendWR
from rdmalab.spec.opcodes import Op
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import WCFlags, WCOpcode, Work

if TYPE_CHECKING:
    from rdmalab.hca.ah import AddressHandle
    from rdmalab.wire.segments import Template


@dataclass(slots=True)
class SendWqe:
    """A send WR on its queue.

    serial: counts this queue's WRs from 0. sg, length: after the zero-length rule of the profile.
    inline: the bytes copied at post time, or None. first_psn..last_psn: the PSNs it will use; what
    sends nothing has none. av: where a datagram goes, if that was read at post time. header: of a
    TSO, as it was at post time.
    """

    serial: int
    wr: SendWR
    work: Work | None
    op: Op | None
    flags: int
    sg: list[SGE]
    length: int
    inline: bytes | None
    signaled: bool
    first_psn: int
    last_psn: int
    av: "AddressHandle | None" = None
    header: "Template | None" = None

    def has_psn(self, psn: int) -> bool:
        """Whether one of its packets has this PSN."""
        span = (self.last_psn - self.first_psn) & MASK
        return self.op is not None and (psn - self.first_psn) & MASK <= span


@dataclass(slots=True)
class RecvWqe:
    """A receive WR on its queue; `length` is the sum of its buffers, in bytes.

    srq: the shared receive queue it was posted to; 0: the QP's own.
    """

    serial: int
    wr: RecvWR
    sg: list[SGE]
    length: int
    srq: int = 0


@dataclass(slots=True)
class Cqe:
    """`ibv_wc`, and what the queue needs to give slots back: `serial` and whose WQE it was (`srq`
    as in RecvWqe).

    On an error status only wr_id, status, qp_num and vendor_err mean anything. solicited: the
    message had the SE bit set. at_ns: when it was added to the CQ; the device stamps it there.
    route: slid, sl and dlid_path_bits of a datagram that came over InfiniBand.
    """

    wr_id: int
    status: WCStatus
    opcode: WCOpcode | int
    byte_len: int
    qp_num: int
    serial: int
    is_send: bool
    imm_data: int = 0
    wc_flags: WCFlags | int = 0
    src_qp: int = 0
    vendor_err: int = 0
    srq: int = 0
    solicited: bool = False
    at_ns: int = 0
    route: tuple[int, int, int] = (0, 0, 0)

    @property
    def slid(self) -> int:
        return self.route[0]

    @property
    def sl(self) -> int:
        return self.route[1]

    @property
    def dlid_path_bits(self) -> int:
        return self.route[2]
