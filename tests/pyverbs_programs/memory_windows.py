"""Memory windows: a peer writes through one, of either type, and is refused after LOCAL_INV.

A window of type 1 is bound by bind_mw, one of type 2 by a work request on the send queue.
"""

import time

import pyverbs.enums as e
from pyverbs.addr import AHAttr, GlobalRoute
from pyverbs.cq import CQ, WC
from pyverbs.device import Context
from pyverbs.mr import MR, MW, MWBind, MWBindInfo
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, SendWR

PORT, GID_INDEX = 1, 1
SIZE = 256
WINDOW = 64  # each window opens this much of the region
REMOTE = e.IBV_ACCESS_REMOTE_WRITE


def poll(cq: CQ) -> WC:
    """Busy-poll one completion, good or bad."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        polled, wcs = cq.poll()
        if polled:
            return wcs[0]
    raise TimeoutError("no completion")


def done(cq: CQ, opcode: int) -> None:
    wc = poll(cq)
    assert wc.status == e.IBV_WC_SUCCESS, wc
    assert wc.opcode == opcode, wc


def connect(qp: QP, peer: Context, peer_qpn: int) -> None:
    route = GlobalRoute(dgid=peer.query_gid(PORT, GID_INDEX), sgid_index=GID_INDEX, hop_limit=64)
    attr = QPAttr(port_num=PORT, path_mtu=e.IBV_MTU_1024)
    attr.ah_attr = AHAttr(gr=route, is_global=1, port_num=PORT)
    attr.qp_access_flags = REMOTE
    attr.dest_qp_num = peer_qpn
    attr.max_rd_atomic = attr.max_dest_rd_atomic = 1
    attr.min_rnr_timer = 12
    attr.timeout = 14
    attr.retry_cnt = attr.rnr_retry = 7
    qp.to_rts(attr)


def write(qp: QP, mr: MR, text: str, rkey: int, addr: int) -> None:
    """An RDMA WRITE of the text to an address of the peer."""
    mr.write(text, len(text))
    sge = SGE(mr.buf, len(text), mr.lkey)
    wr = SendWR(opcode=e.IBV_WR_RDMA_WRITE, num_sge=1, sg=[sge])
    wr.set_wr_rdma(rkey, addr)
    qp.post_send(wr)


def main() -> None:
    with Context(name="rdmalab0") as ctx_a, Context(name="rdmalab1") as ctx_b:
        pd_a, pd_b = PD(ctx_a), PD(ctx_b)
        cq_a, cq_b = CQ(ctx_a, 8), CQ(ctx_b, 8)
        mr_a = MR(pd_a, SIZE, e.IBV_ACCESS_LOCAL_WRITE)
        # The region itself lets no peer in: only its windows do.
        mr_b = MR(pd_b, SIZE, e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_MW_BIND)
        cap = QPCap(max_send_wr=4, max_recv_wr=1)
        qp_a = QP(pd_a, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=cq_a, rcq=cq_a, cap=cap))
        qp_b = QP(pd_b, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=cq_b, rcq=cq_b, cap=cap))
        connect(qp_a, ctx_b, qp_b.qp_num)
        connect(qp_b, ctx_a, qp_a.qp_num)

        first = MW(pd_b, e.IBV_MW_TYPE_1)
        info = MWBindInfo(mr_b, mr_b.buf, WINDOW, REMOTE)
        qp_b.bind_mw(first, MWBind(info, e.IBV_SEND_SIGNALED, wr_id=1))
        done(cq_b, e.IBV_WC_BIND_MW)
        write(qp_a, mr_a, "through type 1", first.rkey, mr_b.buf)
        done(cq_a, e.IBV_WC_RDMA_WRITE)

        second = MW(pd_b, e.IBV_MW_TYPE_2)
        bind = SendWR(wr_id=2, opcode=e.IBV_WR_BIND_MW)
        bind.set_bind_wr(second, MWBindInfo(mr_b, mr_b.buf + WINDOW, WINDOW, REMOTE))
        qp_b.post_send(bind)
        done(cq_b, e.IBV_WC_BIND_MW)
        # The key of this bind is in the work request: the window's own, one step further.
        write(qp_a, mr_a, "through type 2", bind.rkey, mr_b.buf + WINDOW)
        done(cq_a, e.IBV_WC_RDMA_WRITE)
        texts = [mr_b.read(len("through type 1"), offset).decode() for offset in (0, WINDOW)]

        inv = SendWR(wr_id=3, opcode=e.IBV_WR_LOCAL_INV)
        inv.imm_data = bind.rkey  # the key to invalidate shares its place with the immediate
        qp_b.post_send(inv)
        done(cq_b, e.IBV_WC_LOCAL_INV)
        write(qp_a, mr_a, "too late", bind.rkey, mr_b.buf + WINDOW)
        refused = poll(cq_a)
        assert refused.status == e.IBV_WC_REM_ACCESS_ERR, refused
        assert mr_b.read(len(texts[1]), WINDOW) == texts[1].encode()

        print(f"written: {', '.join(texts)}")
        print("after LOCAL_INV: remote access error, memory unchanged")


if __name__ == "__main__":
    main()
