"""Completion events: sleep on a channel instead of polling, drain the CQ, and arm it again.

First the receiver is woken by every message, then only by a solicited one.
"""

import pyverbs.enums as e
from pyverbs.addr import AHAttr, GlobalRoute
from pyverbs.cq import CQ, CompChannel
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

PORT, GID_INDEX = 1, 1
SIZE = 32
MESSAGES = 4


class Node:
    """One side; its CQ reports to a completion channel."""

    def __init__(self, device: str) -> None:
        self.ctx = Context(name=device)
        self.pd = PD(self.ctx)
        self.mr = MR(self.pd, SIZE, e.IBV_ACCESS_LOCAL_WRITE)
        self.channel = CompChannel(self.ctx)
        self.cq = CQ(self.ctx, 16, None, self.channel, 0)
        self.events = 0
        cap = QPCap(max_send_wr=8, max_recv_wr=8)
        self.qp = QP(self.pd, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=self.cq, rcq=self.cq, cap=cap))

    def connect(self, peer: "Node") -> None:
        gid = peer.ctx.query_gid(PORT, GID_INDEX)
        route = GlobalRoute(dgid=gid, sgid_index=GID_INDEX, hop_limit=64)
        attr = QPAttr(port_num=PORT, path_mtu=e.IBV_MTU_1024)
        attr.ah_attr = AHAttr(gr=route, is_global=1, port_num=PORT)
        attr.dest_qp_num = peer.qp.qp_num
        attr.max_rd_atomic = attr.max_dest_rd_atomic = 1
        attr.min_rnr_timer = 12
        attr.timeout = 14
        attr.retry_cnt = attr.rnr_retry = 7
        self.qp.to_rts(attr)

    def sge(self) -> SGE:
        return SGE(self.mr.buf, SIZE, self.mr.lkey)

    def send(self, wr_id: int, flags: int = 0) -> None:
        self.qp.post_send(
            SendWR(wr_id=wr_id, num_sge=1, sg=[self.sge()], send_flags=e.IBV_SEND_SIGNALED | flags)
        )

    def wait(self) -> None:
        """Sleep until the armed CQ has an event."""
        self.channel.get_cq_event(self.cq)
        self.events += 1

    def drain(self, most: int = 8) -> list[int]:
        """The wr_ids of all completions that are there."""
        polled, wcs = self.cq.poll(num_entries=most)
        assert polled == len(wcs)
        assert all(wc.status == e.IBV_WC_SUCCESS for wc in wcs)
        return [wc.wr_id for wc in wcs]

    def close(self) -> None:
        """Every event is acknowledged before the CQ goes: destroying it waits for that."""
        self.cq.ack_events(self.events)
        self.qp.close()
        self.cq.close()
        self.channel.close()
        self.mr.close()
        self.pd.close()
        self.ctx.close()


def main() -> None:
    sender, receiver = Node("rdmalab0"), Node("rdmalab1")
    sender.connect(receiver)
    receiver.connect(sender)
    for wr_id in range(2 * MESSAGES):
        receiver.qp.post_recv(RecvWR(wr_id=wr_id, num_sge=1, sg=[receiver.sge()]))

    got: list[int] = []
    for wr_id in range(MESSAGES):
        receiver.cq.req_notify()
        sender.cq.req_notify()
        sender.send(wr_id)
        receiver.wait()
        got += receiver.drain()
        sender.wait()
        assert sender.drain() == [wr_id]
    assert got == list(range(MESSAGES))
    each = receiver.events

    # Armed for solicited completions, the receiver sleeps through the plain ones.
    receiver.cq.req_notify(solicited_only=True)
    for wr_id in range(MESSAGES, 2 * MESSAGES):
        last = wr_id == 2 * MESSAGES - 1
        sender.send(wr_id, e.IBV_SEND_SOLICITED if last else 0)
    receiver.wait()
    late = receiver.drain()
    assert late == list(range(MESSAGES, 2 * MESSAGES)), late
    print(f"armed for all: {len(got)} messages, {each} events")
    print(f"armed for solicited: {len(late)} messages, {receiver.events - each} event")
    receiver.close()
    sender.close()


if __name__ == "__main__":
    main()
