"""An extended CQ: one pass over a batch of completions, reading only the fields that are asked for.

start_poll answers ENOENT while the CQ is empty, poll_next after the last completion.
"""

import errno
import socket
import time

import pyverbs.enums as e
from pyverbs.addr import AHAttr, GlobalRoute
from pyverbs.cq import CQ, CQEX, CqInitAttrEx, PollCqAttr
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

PORT, GID_INDEX = 1, 1
SIZE = 64
WC_FLAGS = e.IBV_WC_EX_WITH_BYTE_LEN | e.IBV_WC_EX_WITH_IMM | e.IBV_WC_EX_WITH_QP_NUM
NAMES = {e.IBV_WC_RECV: "RECV", e.IBV_WC_RECV_RDMA_WITH_IMM: "RECV_RDMA_WITH_IMM"}


def connect(qp: QP, peer: Context, peer_qpn: int) -> None:
    route = GlobalRoute(dgid=peer.query_gid(PORT, GID_INDEX), sgid_index=GID_INDEX, hop_limit=64)
    attr = QPAttr(port_num=PORT, path_mtu=e.IBV_MTU_1024)
    attr.ah_attr = AHAttr(gr=route, is_global=1, port_num=PORT)
    attr.qp_access_flags = e.IBV_ACCESS_REMOTE_WRITE
    attr.dest_qp_num = peer_qpn
    attr.max_rd_atomic = attr.max_dest_rd_atomic = 1
    attr.min_rnr_timer, attr.timeout = 12, 14
    attr.retry_cnt = attr.rnr_retry = 7
    qp.to_rts(attr)


def wait_for_sends(cq: CQ, count: int) -> None:
    deadline = time.monotonic() + 5
    while count and time.monotonic() < deadline:
        polled, wcs = cq.poll(count)
        assert all(wc.status == e.IBV_WC_SUCCESS for wc in wcs)
        count -= polled
    assert count == 0, "sends did not complete"


def read(cq: CQEX, qp: QP) -> tuple[int, str]:
    """The completion that the CQ points at: its wr_id and a line about it."""
    assert cq.status == e.IBV_WC_SUCCESS
    assert cq.read_qp_num() == qp.qp_num
    line = f"{NAMES[cq.read_opcode()]} of {cq.read_byte_len()} bytes"
    if cq.read_wc_flags() & e.IBV_WC_WITH_IMM:
        # The immediate travels in network byte order and is handed over as it came.
        line += f", immediate {socket.ntohl(cq.read_imm_data())}"
    return cq.wr_id, line


def read_batch(cq: CQEX, qp: QP) -> dict[int, str]:
    """All completions that are there; end_poll only after a start_poll that found one."""
    lines: dict[int, str] = {}
    result = cq.start_poll(PollCqAttr())
    if result == errno.ENOENT:
        return lines
    while result == 0:
        wr_id, lines[wr_id] = read(cq, qp)
        result = cq.poll_next()
    assert result == errno.ENOENT, result
    cq.end_poll()
    return lines


def main() -> None:
    ctx_a, ctx_b = Context(name="rdmalab0"), Context(name="rdmalab1")
    pd_a, pd_b = PD(ctx_a), PD(ctx_b)
    cq_a = CQ(ctx_a, 8)
    cq_b = CQEX(ctx_b, CqInitAttrEx(cqe=8, wc_flags=WC_FLAGS))
    mr_a = MR(pd_a, SIZE, e.IBV_ACCESS_LOCAL_WRITE)
    mr_b = MR(pd_b, SIZE, e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE)
    cap = QPCap(max_send_wr=4, max_recv_wr=4)
    qp_a = QP(pd_a, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=cq_a, rcq=cq_a, cap=cap))
    qp_b = QP(pd_b, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=cq_b, rcq=cq_b, cap=cap))
    connect(qp_a, ctx_b, qp_b.qp_num)
    connect(qp_b, ctx_a, qp_a.qp_num)
    for wr_id in range(3):
        qp_b.post_recv(RecvWR(wr_id=wr_id, num_sge=1, sg=[SGE(mr_b.buf, SIZE, mr_b.lkey)]))
    assert read_batch(cq_b, qp_b) == {}

    plain = SendWR(num_sge=1, sg=[SGE(mr_a.buf, 16, mr_a.lkey)])
    sge = SGE(mr_a.buf, 24, mr_a.lkey)
    immediate = SendWR(0, e.IBV_WR_SEND_WITH_IMM, 1, imm_data=socket.htonl(42), sg=[sge])
    write = SendWR(
        opcode=e.IBV_WR_RDMA_WRITE_WITH_IMM, num_sge=1, sg=[SGE(mr_a.buf, 32, mr_a.lkey)]
    )
    write.imm_data = socket.htonl(43)
    write.set_wr_rdma(mr_b.rkey, mr_b.buf)
    plain.next_wr, immediate.next_wr = immediate, write
    qp_a.post_send(plain)  # and with it the two behind it
    wait_for_sends(cq_a, 3)

    lines: dict[int, str] = {}
    deadline = time.monotonic() + 5
    while len(lines) < 3 and time.monotonic() < deadline:
        lines |= read_batch(cq_b, qp_b)
    assert list(lines) == [0, 1, 2]
    for wr_id, line in lines.items():
        print(f"{wr_id}: {line}")


if __name__ == "__main__":
    main()
