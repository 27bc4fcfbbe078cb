"""The responder as a whole: the first packet, and what an engine starts with."""

import pytest

from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.states import QPState
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import WROpcode
from tests.labs import well
from tests.pairs import Pair
from tests.services import QKEY, services


def test_the_first_packet_in_rtr_raises_comm_est_once() -> None:
    pair = Pair(peer_state=QPState.RTR)
    for _ in range(2):
        pair.a.issue(WROpcode.RDMA_WRITE)
        pair.run()
    assert pair.b.events() == [AsyncEvent.COMM_EST]
    assert pair.a.sent() == [(1, WCStatus.SUCCESS)] * 2


def test_a_datagram_raises_no_comm_est() -> None:
    lab = services("UD", "strict", "post_recv B.qp0 sg=B.mr0[0:104]", peer_state=2)
    send = (
        f"post_send A.qp0 opcode=SEND sg=A.mr0[0:64] ah=A.ah0 remote_qpn=B.qp0 remote_qkey={QKEY}"
    )
    well(lab, send)
    well(lab, "run")
    assert (lab.look("B.cq1.total"), lab.look("B.events.waiting")) == (1, 0)


def test_no_comm_est_in_rts() -> None:
    pair = Pair()
    pair.a.issue(WROpcode.RDMA_WRITE)
    pair.run()
    assert pair.b.events() == []


def test_a_responder_in_sqd_executes_requests() -> None:
    pair = Pair()
    pair.b.modify(qp_state=QPState.SQD)
    pair.b.recv()
    pair.a.post(pair.a.wr(WROpcode.SEND), pair.a.wr(WROpcode.RDMA_READ, 600))
    pair.run()
    assert pair.a.sent() == [(1, WCStatus.SUCCESS)] * 2


@pytest.mark.parametrize("psn", [0, 0x123456, 0xFFFFFF])
def test_rq_psn_is_the_first_expected_psn(psn: int) -> None:
    pair = Pair(psn=psn)
    assert pair.b.qp.resp.psn == psn
    pair.b.recv()
    pair.a.issue(WROpcode.SEND)
    pair.run()
    assert pair.b.received() == [(1, WCStatus.SUCCESS)]
    assert pair.b.qp.resp.psn == (psn + 1) & 0xFFFFFF
