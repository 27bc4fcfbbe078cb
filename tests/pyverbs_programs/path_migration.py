"""InfiniBand: a connection by LID, an alternate path, and a migration to it (APM).

Both ends load the path between their second LIDs and set REARM. One message arms them. Then one end
migrates, and its next packet takes the other end along.
"""

import time

import pyverbs.enums as e
from pyverbs.addr import AHAttr
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

PORT, SIZE = 1, 64
ALTERNATE = e.IBV_QP_ALT_PATH | e.IBV_QP_PATH_MIG_STATE
NAMES = {e.IBV_MIG_MIGRATED: "MIGRATED", e.IBV_MIG_REARM: "REARM", e.IBV_MIG_ARMED: "ARMED"}


class Node:
    """One side: its device, the LID of its port, memory and queues."""

    def __init__(self, device: str) -> None:
        self.ctx = Context(name=device)
        port = self.ctx.query_port(PORT)
        assert port.link_layer == e.IBV_LINK_LAYER_INFINIBAND, f"{device}: no InfiniBand port"
        assert port.lmc, f"{device}: the port has one LID only"
        self.lid = port.lid
        self.pd = PD(self.ctx)
        self.mr = MR(self.pd, 2 * SIZE, e.IBV_ACCESS_LOCAL_WRITE)
        self.cq = CQ(self.ctx, 16)
        cap = QPCap(max_send_wr=4, max_recv_wr=4)
        self.qp = QP(self.pd, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=self.cq, rcq=self.cq, cap=cap))

    def connect(self, lid: int, qp_num: int) -> None:
        """Bring the QP up towards the first LID of the peer; no GRH."""
        attr = QPAttr(port_num=PORT)
        attr.ah_attr = AHAttr(dlid=lid, port_num=PORT)
        attr.dest_qp_num = qp_num
        attr.max_rd_atomic = attr.max_dest_rd_atomic = 1
        attr.min_rnr_timer, attr.timeout = 12, 14
        attr.retry_cnt = attr.rnr_retry = 7
        self.qp.to_rts(attr)

    def load(self, lid: int) -> None:
        """From this port's second LID to that of the peer."""
        attr = QPAttr(port_num=PORT)
        attr.alt_ah_attr = AHAttr(dlid=lid + 1, src_path_bits=1, port_num=PORT)
        attr.alt_port_num, attr.alt_timeout = PORT, 14
        attr.path_mig_state = e.IBV_MIG_REARM
        self.qp.modify(attr, ALTERNATE)

    def show(self) -> str:
        attr, _ = self.qp.query(e.IBV_QP_AV | e.IBV_QP_PATH_MIG_STATE)
        return f"{NAMES[attr.path_mig_state]}, to LID {attr.ah_attr.dlid}"

    def done(self) -> None:
        """Busy-poll one good completion."""
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            polled, wcs = self.cq.poll()
            if polled:
                assert wcs[0].status == e.IBV_WC_SUCCESS, wcs[0]
                return
        raise TimeoutError("no completion")


def send(sender: Node, receiver: Node) -> None:
    """One message, and both of its completions."""
    into = SGE(receiver.mr.buf + SIZE, SIZE, receiver.mr.lkey)
    receiver.qp.post_recv(RecvWR(num_sge=1, sg=[into]))
    sge = SGE(sender.mr.buf, SIZE, sender.mr.lkey)
    sender.qp.post_send(SendWR(opcode=e.IBV_WR_SEND, num_sge=1, sg=[sge]))
    receiver.done()
    sender.done()


def main() -> None:
    a, b = Node("rdmalab0"), Node("rdmalab1")
    a.connect(b.lid, b.qp.qp_num)
    b.connect(a.lid, a.qp.qp_num)
    print(f"connected: {a.show()}; {b.show()}")
    a.load(b.lid)
    b.load(a.lid)
    print(f"loaded: {a.show()}; {b.show()}")
    send(a, b)
    print(f"after a message: {a.show()}; {b.show()}")
    attr = QPAttr(port_num=PORT)
    attr.path_mig_state = e.IBV_MIG_MIGRATED
    a.qp.modify(attr, e.IBV_QP_PATH_MIG_STATE)
    send(a, b)
    for node in (a, b):
        event = node.ctx.get_async_event()
        assert event.event_type == e.IBV_EVENT_PATH_MIG, event
        event.ack()
    print(f"after the migration: {a.show()}; {b.show()}")


if __name__ == "__main__":
    main()
