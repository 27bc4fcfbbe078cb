"""What goes wrong and how to go on: a wrong key, the flush behind it, no receive, a post too early.

A QP in ERR is reset and brought up again; the connection is as good as new.
"""

import errno
import time

import pyverbs.enums as e
from pyverbs.addr import AHAttr, GlobalRoute
from pyverbs.cq import CQ, WC
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, SendWR

PORT, GID_INDEX = 1, 1
SIZE = 64
ACCESS = e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE


class Node:
    """One side of a connection."""

    def __init__(self, device: str) -> None:
        self.ctx = Context(name=device)
        self.pd = PD(self.ctx)
        self.mr = MR(self.pd, SIZE, ACCESS)
        self.cq = CQ(self.ctx, 16)
        self.init = QPInitAttr(e.IBV_QPT_RC, scq=self.cq, rcq=self.cq, cap=QPCap(max_send_wr=8))
        self.qp = QP(self.pd, self.init)

    def connect(self, peer: "Node", rnr_retry: int) -> None:
        """From whatever state the QP is in to RTS."""
        self.qp.modify(QPAttr(qp_state=e.IBV_QPS_RESET), e.IBV_QP_STATE)
        gid = peer.ctx.query_gid(PORT, GID_INDEX)
        route = GlobalRoute(dgid=gid, sgid_index=GID_INDEX, hop_limit=64)
        attr = QPAttr(port_num=PORT, path_mtu=e.IBV_MTU_1024)
        attr.ah_attr = AHAttr(gr=route, is_global=1, port_num=PORT)
        attr.qp_access_flags = ACCESS
        attr.dest_qp_num = peer.qp.qp_num
        attr.max_rd_atomic = attr.max_dest_rd_atomic = 1
        attr.min_rnr_timer, attr.timeout, attr.retry_cnt, attr.rnr_retry = 12, 14, 7, rnr_retry
        self.qp.to_rts(attr)

    def state(self) -> int:
        attr, _ = self.qp.query(e.IBV_QP_STATE)
        return int(attr.qp_state)

    def write(self, wr_id: int, rkey: int, addr: int) -> SendWR:
        sge = SGE(self.mr.buf, SIZE, self.mr.lkey)
        wr = SendWR(wr_id=wr_id, opcode=e.IBV_WR_RDMA_WRITE, num_sge=1, sg=[sge])
        wr.set_wr_rdma(rkey, addr)
        return wr

    def poll(self) -> WC:
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            polled, wcs = self.cq.poll()
            if polled:
                return wcs[0]
        raise TimeoutError("no completion")


def reconnect(a: Node, b: Node, rnr_retry: int = 7) -> None:
    a.connect(b, rnr_retry)
    b.connect(a, rnr_retry)


def main() -> None:
    a, b = Node("rdmalab0"), Node("rdmalab1")
    send = SendWR(wr_id=9, opcode=e.IBV_WR_SEND, num_sge=1, sg=[SGE(a.mr.buf, SIZE, a.mr.lkey)])
    early = QP(a.pd, a.init)
    try:
        early.post_send(send)
    except PyverbsRDMAError as error:
        # Which of the two is the driver's choice.
        assert error.error_code in {errno.EINVAL, errno.ENOMEM}, error
        print(f"posted in RESET: {errno.errorcode[error.error_code]}")
    else:
        raise AssertionError("a QP in RESET took a send")
    early.close()
    reconnect(a, b)
    wrong, right = a.write(1, b.mr.rkey ^ 0xFF, b.mr.buf), a.write(2, b.mr.rkey, b.mr.buf)
    wrong.next_wr, right.next_wr = right, send
    a.qp.post_send(wrong)
    wcs = [a.poll() for _ in range(3)]
    assert [wc.wr_id for wc in wcs] == [1, 2, 9]
    assert wcs[0].status == e.IBV_WC_REM_ACCESS_ERR, wcs[0]
    assert all(wc.status == e.IBV_WC_WR_FLUSH_ERR for wc in wcs[1:])
    assert a.state() == e.IBV_QPS_ERR
    print("wrong key: remote access error, two flushed, QP in ERR")

    reconnect(a, b)
    a.mr.write("written", 7)
    a.qp.post_send(a.write(3, b.mr.rkey, b.mr.buf))
    assert a.poll().status == e.IBV_WC_SUCCESS
    print(f"after reset: {b.mr.read(7, 0).decode()}")

    reconnect(a, b, rnr_retry=0)
    a.qp.post_send(send)
    refused = a.poll()
    assert refused.status == e.IBV_WC_RNR_RETRY_EXC_ERR, refused
    print("no receive and no RNR retry: RNR retry exceeded")


if __name__ == "__main__":
    main()
