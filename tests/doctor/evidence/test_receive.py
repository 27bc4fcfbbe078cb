"""The facts of a receive, on an own queue or on a shared one."""

from rdmalab.doctor.evidence.log import Log
from rdmalab.doctor.evidence.work_of_queues import newest_receive
from rdmalab.doctor.evidence.work_requests import Receive
from rdmalab.lab import Lab
from rdmalab.spec.statuses import WCStatus
from tests.labs import RECV, SEND, lab_of

_SHARED = "post_srq_recv B.srq0 wr_id=4 sg=B.mr0[0:64]"


def receive_of(lab: Lab, wr_id: int = 2, name: str = "B.qp0") -> Receive:
    thing, log = lab.session.names.find(name), Log(lab.session)
    assert thing is not None
    return Receive(lab.session, newest_receive(lab.session, log, thing, wr_id), log)


def test_receive_on_queue_until_taken() -> None:
    lab = lab_of(RECV)
    assert (receive_of(lab).on_queue, receive_of(lab).taking) == (True, None)
    lab.do(SEND)
    lab.do("run")
    receive = receive_of(lab)
    assert not receive.on_queue
    assert receive.taking is not None
    assert receive.ending is not None
    assert receive.ending.status is WCStatus.SUCCESS
    assert receive.polled is None


def test_qp_of_a_shared_receive() -> None:
    lab = lab_of(_SHARED, SEND.replace("qp0", "qp1"), pair="use srq_pair")
    assert receive_of(lab, 4, "B.srq0").qp is None
    lab.do("run")
    receive = receive_of(lab, 4, "B.srq0")
    assert receive.qp is not None
    assert receive.qp.number == lab.session.names.find("B.qp1")[2]  # type: ignore[index]
    assert receive.added is not None
    assert receive.posted is not None


def test_of_an_own_queue_no_shared_completion_is_meant() -> None:
    lab = lab_of(_SHARED, SEND, "run", pair="use srq_pair")
    assert receive_of(lab, 4, "B.qp0").wqe is None


def test_receive_discarded_by_reset() -> None:
    lab = lab_of(RECV, "modify_qp B.qp0 state=RESET")
    assert receive_of(lab).discarded == lab.session.world.event
