"""XRC: one connection, two shared receive queues; the sender names the queue of each message.

On a device without XRC it says so and is done.
"""

import errno
import os
import sys
import time

import pyverbs.enums as e
from pyverbs.addr import AHAttr, GlobalRoute
from pyverbs.cq import CQ, WC
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttrEx
from pyverbs.srq import SRQ, SrqInitAttrEx
from pyverbs.wr import SGE, RecvWR, SendWR
from pyverbs.xrcd import XRCD, XRCDInitAttr

PORT, GID_INDEX = 1, 1
SIZE = 64


def open_domain(ctx: Context) -> XRCD:
    """A domain of this process alone: no file stands for it."""
    mask = e.IBV_XRCD_INIT_ATTR_FD | e.IBV_XRCD_INIT_ATTR_OFLAGS
    try:
        return XRCD(ctx, XRCDInitAttr(mask, os.O_CREAT, -1))
    except PyverbsRDMAError as error:
        if error.error_code not in {errno.EOPNOTSUPP, errno.ENOSYS}:
            raise
        print(f"{ctx.name} has no XRC: {os.strerror(error.error_code)}")
        sys.exit(0)


def xrc_srq(ctx: Context, pd: PD, xrcd: XRCD, cq: CQ) -> SRQ:
    """A receive queue of the domain; it has a CQ of its own."""
    init = SrqInitAttrEx(max_wr=4, max_sge=1)
    init.srq_type = e.IBV_SRQT_XRC
    init.pd = pd
    init.xrcd = xrcd
    init.cq = cq
    init.comp_mask = e.IBV_SRQ_INIT_ATTR_TYPE | e.IBV_SRQ_INIT_ATTR_PD
    init.comp_mask |= e.IBV_SRQ_INIT_ATTR_XRCD | e.IBV_SRQ_INIT_ATTR_CQ
    return SRQ(ctx, init)


def path(peer: Context, peer_qpn: int) -> QPAttr:
    """What an XRC QP must know of the other end."""
    route = GlobalRoute(dgid=peer.query_gid(PORT, GID_INDEX), sgid_index=GID_INDEX, hop_limit=64)
    attr = QPAttr(port_num=PORT, path_mtu=e.IBV_MTU_1024)
    attr.ah_attr = AHAttr(gr=route, is_global=1, port_num=PORT)
    attr.dest_qp_num = peer_qpn
    attr.max_rd_atomic = attr.max_dest_rd_atomic = 1
    attr.min_rnr_timer, attr.timeout = 12, 14
    attr.retry_cnt = attr.rnr_retry = 7
    return attr


def poll(cq: CQ) -> WC:
    """Busy-poll one good completion."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        polled, wcs = cq.poll()
        if polled:
            assert wcs[0].status == e.IBV_WC_SUCCESS, wcs[0]
            return wcs[0]
    raise TimeoutError("no completion")


def main() -> None:
    ctx_a, ctx_b = Context(name="rdmalab0"), Context(name="rdmalab1")
    xrcd = open_domain(ctx_b)
    pd_a, pd_b = PD(ctx_a), PD(ctx_b)
    mr_a = MR(pd_a, SIZE, e.IBV_ACCESS_LOCAL_WRITE)
    mr_b = MR(pd_b, 2 * SIZE, e.IBV_ACCESS_LOCAL_WRITE)
    cq_a = CQ(ctx_a, 8)
    send_init = QPInitAttrEx(
        e.IBV_QPT_XRC_SEND, scq=cq_a, cap=QPCap(max_send_wr=4, max_recv_wr=0, max_recv_sge=0)
    )
    send_init.pd, send_init.comp_mask = pd_a, e.IBV_QP_INIT_ATTR_PD
    sender = QP(ctx_a, send_init)
    recv_init = QPInitAttrEx(e.IBV_QPT_XRC_RECV, xrcd=xrcd, comp_mask=e.IBV_QP_INIT_ATTR_XRCD)
    receiver = QP(ctx_b, recv_init)
    sender.to_rts(path(ctx_b, receiver.qp_num))
    receiver.to_rts(path(ctx_a, sender.qp_num))

    cqs = [CQ(ctx_b, 4) for _ in range(2)]
    queues = [xrc_srq(ctx_b, pd_b, xrcd, cq) for cq in cqs]
    for index, queue in enumerate(queues):
        sge = SGE(mr_b.buf + index * SIZE, SIZE, mr_b.lkey)
        queue.post_recv(RecvWR(wr_id=index, num_sge=1, sg=[sge]))

    for index in (1, 0):
        text = f"for queue {index}"
        mr_a.write(text, len(text))
        wr = SendWR(opcode=e.IBV_WR_SEND, num_sge=1, sg=[SGE(mr_a.buf, len(text), mr_a.lkey)])
        wr.set_qp_type_xrc(queues[index].get_srq_num())
        sender.post_send(wr)
        assert poll(cq_a).opcode == e.IBV_WC_SEND
        wc = poll(cqs[index])
        assert (wc.wr_id, wc.qp_num) == (index, receiver.qp_num), wc
        print(f"queue {index}: {mr_b.read(wc.byte_len, index * SIZE).decode()}")


if __name__ == "__main__":
    main()
