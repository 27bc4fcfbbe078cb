"""A server with two client connections on one shared receive queue.

The queue's limit is armed: when fewer receives are left, an asynchronous event asks for more.
"""

import time

import pyverbs.enums as e
from pyverbs.addr import AHAttr, GlobalRoute
from pyverbs.cq import CQ, WC
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

PORT, GID_INDEX = 1, 1
SLOT = 64  # bytes of one receive buffer
SLOTS, LIMIT = 8, 4
PER_CLIENT = 3


def poll(cq: CQ) -> WC:
    """Busy-poll one good completion."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        polled, wcs = cq.poll()
        if polled:
            assert wcs[0].status == e.IBV_WC_SUCCESS, wcs[0]
            return wcs[0]
    raise TimeoutError("no completion")


def connect(ctx: Context, qp: QP, peer: Context, peer_qpn: int) -> None:
    route = GlobalRoute(dgid=peer.query_gid(PORT, GID_INDEX), sgid_index=GID_INDEX, hop_limit=64)
    attr = QPAttr(port_num=PORT, path_mtu=ctx.query_port(PORT).active_mtu)
    attr.ah_attr = AHAttr(gr=route, is_global=1, port_num=PORT)
    attr.dest_qp_num = peer_qpn
    attr.max_rd_atomic = attr.max_dest_rd_atomic = 1
    attr.min_rnr_timer = 12
    attr.timeout = 14
    attr.retry_cnt = attr.rnr_retry = 7
    qp.to_rts(attr)


def refill(srq: SRQ, mr: MR, slots: list[int]) -> None:
    """Post these slots again; wr_id says which slot it is."""
    for slot in slots:
        sge = SGE(mr.buf + slot * SLOT, SLOT, mr.lkey)
        srq.post_recv(RecvWR(wr_id=slot, num_sge=1, sg=[sge]))


def arm(srq: SRQ) -> None:
    srq.modify(SrqAttr(srq_limit=LIMIT), e.IBV_SRQ_LIMIT)
    assert srq.query().srq_limit == LIMIT


def main() -> None:
    ctx_a, ctx_b = Context(name="rdmalab0"), Context(name="rdmalab1")
    pd_a, pd_b = PD(ctx_a), PD(ctx_b)
    cq_a, cq_b = CQ(ctx_a, 16), CQ(ctx_b, 16)
    mr_a = MR(pd_a, SLOT, e.IBV_ACCESS_LOCAL_WRITE)
    mr_b = MR(pd_b, SLOTS * SLOT, e.IBV_ACCESS_LOCAL_WRITE)

    srq = SRQ(pd_b, SrqInitAttr(SrqAttr(max_wr=SLOTS, max_sge=1)))
    refill(srq, mr_b, list(range(SLOTS)))
    arm(srq)

    client_init = QPInitAttr(qp_type=e.IBV_QPT_RC, scq=cq_a, rcq=cq_a, cap=QPCap(max_send_wr=4))
    server_init = QPInitAttr(
        qp_type=e.IBV_QPT_RC, scq=cq_b, rcq=cq_b, srq=srq, cap=QPCap(max_recv_wr=0)
    )
    clients = [QP(pd_a, client_init) for _ in range(2)]
    servers = [QP(pd_b, server_init) for _ in range(2)]
    for client, server in zip(clients, servers, strict=True):
        connect(ctx_a, client, ctx_b, server.qp_num)
        connect(ctx_b, server, ctx_a, client.qp_num)

    received: dict[int, list[bytes]] = {server.qp_num: [] for server in servers}
    used: list[int] = []
    for number in range(PER_CLIENT):
        for index, client in enumerate(clients):
            text = f"client {index} message {number}"
            mr_a.write(text, len(text))
            sge = SGE(mr_a.buf, len(text), mr_a.lkey)
            client.post_send(SendWR(opcode=e.IBV_WR_SEND, num_sge=1, sg=[sge]))
            assert poll(cq_a).qp_num == client.qp_num
            wc = poll(cq_b)
            used.append(wc.wr_id)
            received[wc.qp_num].append(mr_b.read(wc.byte_len, wc.wr_id * SLOT))

    event = ctx_b.get_async_event()
    assert event.event_type == e.IBV_EVENT_SRQ_LIMIT_REACHED, event
    event.ack()
    assert srq.query().srq_limit == 0  # the event came once; arm it again after refilling
    refill(srq, mr_b, used)
    arm(srq)

    for server, texts in zip(servers, received.values(), strict=True):
        assert len(received[server.qp_num]) == PER_CLIENT
        print(f"connection {servers.index(server)}: {b', '.join(texts).decode()}")
    print(f"fewer than {LIMIT} receives were left: one event, {len(used)} refilled")


if __name__ == "__main__":
    main()
