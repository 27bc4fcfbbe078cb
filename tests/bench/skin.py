"""How fast a pyverbs program runs: a 64 B ping-pong through the skin."""

import time

from rdmalab.compat import process
from rdmalab.compat.pyverbs.addr import AHAttr, GlobalRoute
from rdmalab.compat.pyverbs.cq import CQ
from rdmalab.compat.pyverbs.device import Context
from rdmalab.compat.pyverbs.mr import MR
from rdmalab.compat.pyverbs.pd import PD
from rdmalab.compat.pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from rdmalab.compat.pyverbs.wr import SGE, RecvWR, SendWR
from rdmalab.spec.access import Access
from rdmalab.spec.states import QPType

SIZE, ROUNDS = 64, 500


class End:
    """One side."""

    def __init__(self, device: str) -> None:
        self.context = Context(name=device)
        self.pd, self.cq = PD(self.context), CQ(self.context, 16)
        self.mr = MR(self.pd, SIZE, int(Access.LOCAL_WRITE))
        init = QPInitAttr(qp_type=QPType.RC, scq=self.cq, rcq=self.cq, cap=QPCap(4, 4))
        self.qp = QP(self.pd, init)
        self.sge = SGE(self.mr.buf, SIZE, self.mr.lkey)

    def connect(self, other: "End") -> None:
        route = GlobalRoute(dgid=other.context.query_gid(1, 1), sgid_index=1)
        attr = QPAttr(port_num=1)
        attr.ah_attr = AHAttr(is_global=1, gr=route)
        attr.dest_qp_num, attr.timeout, attr.retry_cnt, attr.rnr_retry = other.qp.qp_num, 14, 7, 7
        attr.max_rd_atomic = attr.max_dest_rd_atomic = 1
        self.qp.to_rts(attr)

    def poll(self, count: int) -> None:
        while count:
            count -= self.cq.poll(count)[0]


def pingpong() -> float:
    """CPU seconds for one send with its receive and polls; both sides send."""
    process.begin()
    ends = End("rdmalab0"), End("rdmalab1")
    for end, other in zip(ends, reversed(ends), strict=True):
        end.connect(other)
    start = time.process_time()
    for number in range(ROUNDS):
        for end, other in zip(ends, reversed(ends), strict=True):
            other.qp.post_recv(RecvWR(number, 1, [other.sge]))
            end.mr.write(number.to_bytes(8, "big"), 8)
            end.qp.post_send(SendWR(number, num_sge=1, sg=[end.sge]))
            other.poll(1)
            end.poll(1)
    return (time.process_time() - start) / (2 * ROUNDS)
