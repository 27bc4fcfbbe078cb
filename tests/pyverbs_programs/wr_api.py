"""The work request builders of the extended QP: a batch, inline data, a list, and an abort."""

import socket
import time

import pyverbs.enums as e
from pyverbs.addr import AHAttr, GlobalRoute
from pyverbs.cq import CQ, WC
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QPAttr, QPCap, QPEx, QPInitAttrEx
from pyverbs.wr import SGE, RecvWR

PORT, GID_INDEX, SIZE = 1, 1, 128
SENDS = e.IBV_QP_EX_WITH_SEND | e.IBV_QP_EX_WITH_SEND_WITH_IMM
WRITES = e.IBV_QP_EX_WITH_RDMA_WRITE | e.IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM


class Node:
    """One side; the QP belongs to the context and names its PD in the attributes."""

    def __init__(self, device: str) -> None:
        self.ctx = Context(name=device)
        self.pd = PD(self.ctx)
        self.cq = CQ(self.ctx, 16)
        self.mr = MR(self.pd, SIZE, e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE)
        init = QPInitAttrEx(e.IBV_QPT_RC, scq=self.cq, rcq=self.cq, send_ops_flags=SENDS | WRITES)
        init.cap = QPCap(max_send_wr=8, max_send_sge=2, max_inline_data=32)
        init.pd = self.pd
        init.comp_mask = e.IBV_QP_INIT_ATTR_PD | e.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS
        self.qp = QPEx(self.ctx, init)

    def connect(self, peer: "Node") -> None:
        gid = peer.ctx.query_gid(PORT, GID_INDEX)
        attr = QPAttr(port_num=PORT, path_mtu=e.IBV_MTU_4096)
        route = GlobalRoute(dgid=gid, sgid_index=GID_INDEX, hop_limit=64)
        attr.ah_attr = AHAttr(gr=route, is_global=1, port_num=PORT)
        attr.qp_access_flags = e.IBV_ACCESS_REMOTE_WRITE
        attr.dest_qp_num = peer.qp.qp_num
        attr.max_rd_atomic = attr.max_dest_rd_atomic = 1
        attr.min_rnr_timer, attr.timeout, attr.retry_cnt, attr.rnr_retry = 12, 14, 7, 7
        self.qp.to_rts(attr)

    def start(self, wr_id: int, flags: int = 0) -> None:
        self.qp.wr_start()
        # What is set before a builder holds for its request.
        self.qp.wr_id, self.qp.wr_flags = wr_id, e.IBV_SEND_SIGNALED | flags

    def sge(self, start: int, stop: int) -> SGE:
        return SGE(self.mr.buf + start, stop - start, self.mr.lkey)

    def expect(self, *expected: tuple[int, int]) -> WC:
        """Completions of these opcodes and wr_ids, in this order; the last one is returned."""
        found: list[WC] = []
        deadline = time.monotonic() + 5
        while len(found) < len(expected) and time.monotonic() < deadline:
            found += self.cq.poll()[1]
        good = [(e.IBV_WC_SUCCESS, *each) for each in expected]
        assert [(wc.status, wc.opcode, wc.wr_id) for wc in found] == good
        return found[-1]


def main() -> None:
    a, b = Node("rdmalab0"), Node("rdmalab1")
    a.connect(b)
    b.connect(a)
    for wr_id in (11, 12, 13):
        b.qp.post_recv(RecvWR(wr_id, 1, [b.sge(96, SIZE)]))
    # Two requests in one batch. The inline bytes are copied now, so they may change at once.
    a.mr.write("inline bytes, then more.", 24)
    a.start(1, e.IBV_SEND_INLINE)  # Soft-RoCE wants the flag beside the setter
    a.qp.wr_rdma_write(b.mr.rkey, b.mr.buf)
    a.qp.wr_set_inline_data(a.mr.buf, 12)
    a.qp.wr_id, a.qp.wr_flags = 2, e.IBV_SEND_SIGNALED
    a.qp.wr_send()
    a.qp.wr_set_sge(a.sge(14, 24))
    a.mr.write("x" * 12, 12)
    a.qp.wr_complete()
    a.expect((e.IBV_WC_RDMA_WRITE, 1), (e.IBV_WC_SEND, 2))
    sent = b.expect((e.IBV_WC_RECV, 11))
    batch = b.mr.read(12, 0), b.mr.read(sent.byte_len, 96)
    assert batch == (b"inline bytes", b"then more."), batch
    # A WRITE of two equal pieces with an immediate, which takes a receive of the peer.
    a.start(3)
    a.qp.wr_rdma_write_imm(b.mr.rkey, b.mr.buf + 32, 0xBEEF)
    a.qp.wr_set_sge_list(2, [a.sge(14, 19), a.sge(19, 24)])
    a.qp.wr_complete()
    a.expect((e.IBV_WC_RDMA_WRITE, 3))
    written = b.expect((e.IBV_WC_RECV_RDMA_WITH_IMM, 12))
    assert written.wc_flags & e.IBV_WC_WITH_IMM
    assert b.mr.read(written.byte_len, 32) == b"then more."
    # An aborted batch leaves nothing behind: the next send takes the next receive.
    a.start(4)
    a.qp.wr_send()
    a.qp.wr_abort()
    a.start(5)
    a.qp.wr_send_imm(5)
    a.qp.wr_set_sge(a.sge(0, 8))
    a.qp.wr_complete()
    a.expect((e.IBV_WC_SEND, 5))
    last = b.expect((e.IBV_WC_RECV, 13))
    assert last.byte_len == 8
    print(f"batch of two: {batch[0].decode()}, {batch[1].decode()}")
    print(f"immediate of the write: {socket.ntohl(written.imm_data):#x}")
    print(f"immediate after the abort: {socket.ntohl(last.imm_data)}")


if __name__ == "__main__":
    main()
