"""RC ping-pong: two nodes send 64 bytes to and fro, 100 rounds, and check every byte."""

import time

import pyverbs.enums as e
from pyverbs.addr import GID, AHAttr, GlobalRoute
from pyverbs.cq import CQ, WC
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

PORT, GID_INDEX = 1, 1
SIZE, ROUNDS = 64, 100


class Node:
    """One side: its device, memory and queues."""

    def __init__(self, device: str) -> None:
        self.ctx = Context(name=device)
        port = self.ctx.query_port(PORT)
        assert port.state == e.IBV_PORT_ACTIVE, f"{device}: the port is down"
        self.mtu = port.active_mtu
        self.gid = self.ctx.query_gid(PORT, GID_INDEX)
        self.pd = PD(self.ctx)
        # The first half is sent from, the second half received into.
        self.mr = MR(self.pd, 2 * SIZE, e.IBV_ACCESS_LOCAL_WRITE)
        self.cq = CQ(self.ctx, 16)
        init = QPInitAttr(
            qp_type=e.IBV_QPT_RC, scq=self.cq, rcq=self.cq, cap=QPCap(max_send_wr=4, max_recv_wr=4)
        )
        self.qp = QP(self.pd, init)

    def connect(self, gid: GID, qp_num: int) -> None:
        """Bring the QP up towards the peer with this GID and QP number."""
        route = GlobalRoute(dgid=gid, sgid_index=GID_INDEX, hop_limit=64)
        attr = QPAttr(port_num=PORT, path_mtu=self.mtu)
        attr.ah_attr = AHAttr(gr=route, is_global=1, port_num=PORT)
        attr.dest_qp_num = qp_num
        attr.rq_psn = attr.sq_psn = 0
        attr.max_rd_atomic = attr.max_dest_rd_atomic = 1
        attr.min_rnr_timer = 12
        attr.timeout = 14
        attr.retry_cnt = attr.rnr_retry = 7
        self.qp.to_rts(attr)

    def post_recv(self, wr_id: int) -> None:
        sge = SGE(self.mr.buf + SIZE, SIZE, self.mr.lkey)
        self.qp.post_recv(RecvWR(wr_id=wr_id, num_sge=1, sg=[sge]))

    def send(self, wr_id: int, data: bytes) -> None:
        self.mr.write(data, SIZE)
        sge = SGE(self.mr.buf, SIZE, self.mr.lkey)
        self.qp.post_send(SendWR(wr_id=wr_id, opcode=e.IBV_WR_SEND, num_sge=1, sg=[sge]))

    def poll(self) -> WC:
        """Busy-poll the next completion; five seconds without one is an error."""
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            polled, wcs = self.cq.poll()
            if polled:
                return wcs[0]
        raise TimeoutError("no completion")

    def expect(self, opcode: int, wr_id: int) -> None:
        wc = self.poll()
        assert wc.status == e.IBV_WC_SUCCESS, wc
        assert (wc.opcode, wc.wr_id) == (opcode, wr_id), wc
        assert wc.qp_num == self.qp.qp_num
        if opcode == e.IBV_WC_RECV:
            assert wc.byte_len == SIZE


def play(sender: Node, receiver: Node, wr_id: int, text: str) -> None:
    """One message, and both of its completions."""
    data = text.encode().ljust(SIZE, b".")
    sender.send(wr_id, data)
    receiver.expect(e.IBV_WC_RECV, wr_id)
    sender.expect(e.IBV_WC_SEND, wr_id)
    assert receiver.mr.read(SIZE, SIZE) == data


def main() -> None:
    client, server = Node("rdmalab0"), Node("rdmalab1")
    client.connect(server.gid, server.qp.qp_num)
    server.connect(client.gid, client.qp.qp_num)
    for number in range(ROUNDS):
        client.post_recv(number)
        server.post_recv(number)
        play(client, server, number, f"ping {number}")
        play(server, client, number, f"pong {number}")
    assert client.cq.poll() == (0, [])
    assert server.cq.poll() == (0, [])
    print(f"rounds: {ROUNDS}")
    print(f"bytes each way: {ROUNDS * SIZE}")


if __name__ == "__main__":
    main()
