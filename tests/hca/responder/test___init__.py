"""The responder as a whole: the first packet, and what an engine starts with."""

import pytest

from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.states import QPState
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import WROpcode
from tests.pairs import Pair


def test_the_first_packet_in_rtr_raises_comm_est_once() -> None:
    pair = Pair(peer_state=QPState.RTR)
    for _ in range(2):
        pair.a.issue(WROpcode.RDMA_WRITE)
        pair.run()
    assert pair.b.events() == [AsyncEvent.COMM_EST]
    assert pair.a.sent() == [(1, WCStatus.SUCCESS)] * 2


def test_in_rts_nothing_is_raised() -> None:
    pair = Pair()
    pair.a.issue(WROpcode.RDMA_WRITE)
    pair.run()
    assert pair.b.events() == []


def test_a_responder_in_sqd_goes_on() -> None:
    pair = Pair()
    pair.b.modify(qp_state=QPState.SQD)
    pair.b.recv()
    pair.a.post(pair.a.wr(WROpcode.SEND), pair.a.wr(WROpcode.RDMA_READ, 600))
    pair.run()
    assert pair.a.sent() == [(1, WCStatus.SUCCESS)] * 2


@pytest.mark.parametrize("psn", [0, 0x123456, 0xFFFFFF])
def test_rq_psn_is_what_is_expected_first(psn: int) -> None:
    pair = Pair(psn=psn)
    assert pair.b.qp.resp.psn == psn
    pair.b.recv()
    pair.a.issue(WROpcode.SEND)
    pair.run()
    assert pair.b.received() == [(1, WCStatus.SUCCESS)]
    assert pair.b.qp.resp.psn == (psn + 1) & 0xFFFFFF
