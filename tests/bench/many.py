"""One work request of ten thousand under way: one on each of ten thousand QPs, or all on one."""

import gc
import time
from dataclasses import replace

from rdmalab.hca import lifecycle, modify, polling, qp_lifecycle
from rdmalab.hca.ah import ah_attr_of
from rdmalab.hca.attributes import QpAttr
from rdmalab.hca.cq import CompletionQueue
from rdmalab.hca.device import Hca
from rdmalab.hca.mr import register
from rdmalab.hca.objects import MemoryRegion
from rdmalab.hca.posting import post_recv, post_send
from rdmalab.hca.qp import Capacity, QueuePair
from rdmalab.hca.wr import SGE, RecvWR, SendWR
from rdmalab.spec.access import Access
from rdmalab.spec.profiles import STRICT
from rdmalab.spec.states import MTU, QPState, QPType
from rdmalab.spec.work import SendFlags, WROpcode
from rdmalab.world.world import World

MANY = 10_000
FOREVER = 10**9
_CAPS = replace(STRICT.caps, max_qp=2 * MANY, max_cqe=4 * MANY, max_qp_wr=MANY)


class Crowd:
    """`count` pairs of connected QPs on two nodes; one MR and one CQ a node."""

    def __init__(self, count: int) -> None:
        profile = replace(STRICT, caps=_CAPS)
        self.world = World({"A": profile, "B": profile})
        self.world.begin_event()
        # so slow that no ACK waits for the next: one QP and many send the same packets
        self.world.network.tune_link("rate_bps", 10**9)
        self.a, self.b = self.world.nodes["A"], self.world.nodes["B"]
        self.senders, self.send_mr, self.send_cq = self._side(self.a, count)
        self.receivers, self.recv_mr, self.recv_cq = self._side(self.b, count)
        for one, other in zip(self.senders, self.receivers, strict=True):
            _connect(self.a, one, ah_attr_of(self.b), other.number)
            _connect(self.b, other, ah_attr_of(self.a), one.number)

    def _side(self, hca: Hca, count: int) -> tuple[list[QueuePair], MemoryRegion, CompletionQueue]:
        pd = lifecycle.alloc_pd(hca).number
        mr = register(hca, pd, 4096, int(Access.LOCAL_WRITE), None)
        cq = lifecycle.create_cq(hca, 2 * MANY, 0)
        cap = Capacity(MANY // count, MANY // count, 1, 1, 0)
        qps = [
            qp_lifecycle.create_qp(hca, QPType.RC, pd, cq.number, cq.number, cap, sig_all=False)
            for _ in range(count)
        ]
        return qps, mr, cq

    def use(self, wrs: int = MANY) -> None:
        """So many SENDs, spread over all QPs, all posted before time moves; then polled."""
        world, count = self.world, len(self.senders)
        recv_sg = [SGE(self.recv_mr.addr, 64, self.recv_mr.lkey)]
        send_sg = [SGE(self.send_mr.addr, 64, self.send_mr.lkey)]
        for n in range(wrs):
            world.begin_event()
            post_recv(self.b, self.receivers[n % count], [RecvWR(n, recv_sg)])
            world.begin_event()
            wr = SendWR(WROpcode.SEND, n, send_sg, SendFlags.SIGNALED)
            post_send(self.a, self.senders[n % count], [wr])
        world.run(FOREVER)
        for hca, cq in ((self.a, self.send_cq), (self.b, self.recv_cq)):
            world.begin_event()
            assert len(polling.poll(hca, cq, wrs)) == wrs


def _connect(hca: Hca, qp: QueuePair, ah: object, dest: int) -> None:
    for attr in (
        QpAttr(qp_state=QPState.INIT, pkey_index=0, port_num=1, qp_access_flags=Access(0)),
        QpAttr(
            qp_state=QPState.RTR, path_mtu=MTU.B1024, dest_qp_num=dest, rq_psn=0,
            max_dest_rd_atomic=1, min_rnr_timer=12, ah_attr=ah,  # type: ignore[arg-type]
        ),
        QpAttr(
            qp_state=QPState.RTS, timeout=14, retry_cnt=7, rnr_retry=7, sq_psn=0, max_rd_atomic=1
        ),
    ):  # fmt: skip
        modify.modify(hca, qp, attr)


def work_request(qps: int) -> float:
    """CPU seconds of one SEND and its receive; what it took to make the QPs is not counted."""
    crowd = Crowd(qps)
    crowd.use()
    gc.collect()  # what was made so far is no debt of what comes now
    start = time.process_time()
    crowd.use()
    return (time.process_time() - start) / MANY


def one_qp() -> float:
    return work_request(1)


def ten_thousand_qps() -> float:
    return work_request(MANY)
