"""UD: address handles from a GID and from a completion, the 40 bytes of the GRH, the Q_Key.

A datagram with a wrong Q_Key is lost without a word; the next one arrives.
"""

import time

import pyverbs.enums as e
from pyverbs.addr import AH, AHAttr, GlobalRoute
from pyverbs.cq import CQ, WC
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

PORT, GID_INDEX = 1, 1
QKEY = 0x11111111
GRH = 40
ROOM = 256


def poll(cq: CQ) -> WC:
    """Busy-poll one good completion."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        polled, wcs = cq.poll(num_entries=1)
        if polled:
            assert wcs[0].status == e.IBV_WC_SUCCESS, wcs[0]
            return wcs[0]
    raise TimeoutError("no completion")


def datagram_qp(pd: PD, cq: CQ) -> QP:
    """A UD QP that accepts QKEY; with attributes given, the constructor goes on to RTS."""
    init = QPInitAttr(qp_type=e.IBV_QPT_UD, scq=cq, rcq=cq, cap=QPCap(max_send_wr=4, max_recv_wr=4))
    attr = QPAttr(port_num=PORT)
    attr.qkey = QKEY
    attr.sq_psn = 0
    qp = QP(pd, init, attr)
    assert qp.qp_state == e.IBV_QPS_RTS
    return qp


def post_recv(qp: QP, mr: MR) -> None:
    """Room for the message and the GRH in front of it."""
    qp.post_recv(RecvWR(num_sge=1, sg=[SGE(mr.buf, ROOM, mr.lkey)]))


def send(qp: QP, mr: MR, text: str, ah: AH, qpn: int, qkey: int) -> None:
    mr.write(text, len(text), ROOM)
    wr = SendWR(opcode=e.IBV_WR_SEND, num_sge=1, sg=[SGE(mr.buf + ROOM, len(text), mr.lkey)])
    wr.set_wr_ud(ah, qpn, qkey)
    qp.post_send(wr)


def main() -> None:
    with Context(name="rdmalab0") as ctx_a, Context(name="rdmalab1") as ctx_b:
        pd_a, pd_b = PD(ctx_a), PD(ctx_b)
        cq_a, cq_b = CQ(ctx_a, 8), CQ(ctx_b, 8)
        # Received into the first ROOM bytes, sent from the rest.
        mr_a = MR(pd_a, 2 * ROOM, e.IBV_ACCESS_LOCAL_WRITE)
        mr_b = MR(pd_b, 2 * ROOM, e.IBV_ACCESS_LOCAL_WRITE)
        qp_a, qp_b = datagram_qp(pd_a, cq_a), datagram_qp(pd_b, cq_b)
        post_recv(qp_a, mr_a)
        post_recv(qp_b, mr_b)

        route = GlobalRoute(
            dgid=ctx_b.query_gid(PORT, GID_INDEX), sgid_index=GID_INDEX, hop_limit=64
        )
        to_b = AH(pd_a, attr=AHAttr(gr=route, is_global=1, port_num=PORT))

        # The sender of a datagram never learns that nobody took it.
        send(qp_a, mr_a, "wrong key", to_b, qp_b.qp_num, QKEY + 1)
        assert poll(cq_a).opcode == e.IBV_WC_SEND
        send(qp_a, mr_a, "hello", to_b, qp_b.qp_num, QKEY)
        assert poll(cq_a).opcode == e.IBV_WC_SEND

        wc = poll(cq_b)
        assert wc.opcode == e.IBV_WC_RECV
        assert wc.wc_flags & e.IBV_WC_GRH
        assert wc.src_qp == qp_a.qp_num
        request = mr_b.read(wc.byte_len - GRH, GRH)
        assert request == b"hello", request

        # The completion and the GRH say who sent it: enough for the way back.
        to_a = AH(pd_b, wc=wc, grh=mr_b.buf, port_num=PORT)
        send(qp_b, mr_b, "hello yourself", to_a, wc.src_qp, QKEY)
        poll(cq_b)
        answer = poll(cq_a)
        assert answer.src_qp == qp_b.qp_num
        assert answer.byte_len == GRH + len("hello yourself")

        print(f"B received {wc.byte_len} bytes, {GRH} of them the GRH: {request.decode()}")
        print(f"A received: {mr_a.read(answer.byte_len - GRH, GRH).decode()}")
        print(f"left in B's queue: {cq_b.poll()[0]}")


if __name__ == "__main__":
    main()
