"""Remote counters: each node adds to the counter in the other's memory, then compares and swaps.

The old value comes back with each atomic, so that no two additions see the same one.
"""

import struct
import time

import pyverbs.enums as e
from pyverbs.addr import AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, SendWR

PORT, GID_INDEX = 1, 1
ADDITIONS = 10
ACCESS = e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_ATOMIC


class Node:
    """One side; 8 bytes of its memory are the counter, the next 8 take the old values."""

    def __init__(self, device: str) -> None:
        self.ctx = Context(name=device)
        assert self.ctx.query_device().atomic_caps != e.IBV_ATOMIC_NONE, "no atomics"
        self.pd = PD(self.ctx)
        self.mr = MR(self.pd, 16, ACCESS)
        self.cq = CQ(self.ctx, 4)
        self.qp = QP(
            self.pd,
            QPInitAttr(qp_type=e.IBV_QPT_RC, scq=self.cq, rcq=self.cq, cap=QPCap(max_send_wr=2)),
        )

    def connect(self, peer: "Node") -> None:
        gid = peer.ctx.query_gid(PORT, GID_INDEX)
        route = GlobalRoute(dgid=gid, sgid_index=GID_INDEX, hop_limit=64)
        attr = QPAttr(port_num=PORT, path_mtu=e.IBV_MTU_1024)
        attr.ah_attr = AHAttr(gr=route, is_global=1, port_num=PORT)
        attr.qp_access_flags = ACCESS
        attr.dest_qp_num = peer.qp.qp_num
        attr.max_rd_atomic = attr.max_dest_rd_atomic = 1
        attr.min_rnr_timer = 12
        attr.timeout = 14
        attr.retry_cnt = attr.rnr_retry = 7
        self.qp.to_rts(attr)

    def word(self, offset: int) -> int:
        """A 64-bit word of this node's memory, in the byte order of this host."""
        return int(struct.unpack("=Q", self.mr.read(8, offset))[0])

    def atomic(self, peer: "Node", opcode: int, compare_add: int, swap: int = 0) -> int:
        """Do one atomic on the peer's counter and return what was there before."""
        sge = SGE(self.mr.buf + 8, 8, self.mr.lkey)
        wr = SendWR(opcode=opcode, num_sge=1, sg=[sge])
        wr.set_wr_atomic(peer.mr.rkey, peer.mr.buf, compare_add, swap)
        self.qp.post_send(wr)
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            polled, wcs = self.cq.poll()
            if polled:
                wc = wcs[0]
                assert wc.status == e.IBV_WC_SUCCESS, wc
                fetched = opcode == e.IBV_WR_ATOMIC_FETCH_AND_ADD
                assert wc.opcode == (e.IBV_WC_FETCH_ADD if fetched else e.IBV_WC_COMP_SWAP)
                return self.word(8)
        raise TimeoutError("no completion")


def main() -> None:
    a, b = Node("rdmalab0"), Node("rdmalab1")
    a.connect(b)
    b.connect(a)
    seen_by_a, seen_by_b = [], []
    for _ in range(ADDITIONS):
        seen_by_a.append(a.atomic(b, e.IBV_WR_ATOMIC_FETCH_AND_ADD, 1))
        seen_by_b.append(b.atomic(a, e.IBV_WR_ATOMIC_FETCH_AND_ADD, 2))
    assert seen_by_a == list(range(ADDITIONS))
    assert seen_by_b == list(range(0, 2 * ADDITIONS, 2))
    added = b.word(0), a.word(0)

    # The first swap finds what it expects; the second one does not, and changes nothing.
    assert a.atomic(b, e.IBV_WR_ATOMIC_CMP_AND_SWP, ADDITIONS, 1 << 40) == ADDITIONS
    assert a.atomic(b, e.IBV_WR_ATOMIC_CMP_AND_SWP, ADDITIONS, 7) == 1 << 40
    assert b.word(0) == 1 << 40

    # Subtraction is addition of the two's complement.
    assert b.atomic(a, e.IBV_WR_ATOMIC_FETCH_AND_ADD, 2**64 - 5) == 2 * ADDITIONS
    print(f"counters after {ADDITIONS} additions each: {added[0]} and {added[1]}")
    print(f"after compare and swap: {b.word(0)}")
    print(f"after subtracting 5: {a.word(0)}")


if __name__ == "__main__":
    main()
