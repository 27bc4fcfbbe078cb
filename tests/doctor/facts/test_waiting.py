"""Who waits for a message, and what the peer has done meanwhile."""

from rdmalab.doctor.facts.undelivered import done_by_peer, is_quiet, waiters, watcher
from rdmalab.lab import Lab
from tests.doctor.asking import case_of
from tests.labs import RECV, SEND, lab_of, well

_RECV = "B.qp0.recv_wr[2]"
_WRITE = "post_send A.qp0 wr_id=4 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0[0] flags=SIGNALED"


def names(lab: Lab, asked: str, *, named: bool = True) -> list[str]:
    case = case_of(lab, asked, asked=named)
    return [case.qp_name(qp) for qp in waiters(case)]


def test_a_receive_waits_and_a_program_waits() -> None:
    lab = lab_of(RECV, "program B.rx lines={poll B.cq0}", "run 1us")
    assert names(lab, _RECV) == names(lab, "B.rx") == ["B.qp0"]
    assert names(lab, _RECV, named=False) == []
    well(lab, SEND)
    well(lab, "run 1us")
    well(lab, "run")
    assert names(lab, _RECV) == names(lab, "B.rx") == []


def test_watcher_is_the_program_that_polls_the_cq() -> None:
    lab = lab_of(RECV, "program A.tx lines={poll A.cq0}")
    case = case_of(lab, _RECV)
    (qp,) = waiters(case)
    assert watcher(case, qp) == ""
    well(lab, "program B.rx lines={poll B.cq0}")
    assert watcher(case_of(lab, _RECV), qp) == "B.rx"


def test_watcher_of_an_armed_cq() -> None:
    lab = lab_of(RECV, "req_notify_cq B.cq0", pair="use rc_pair channel=1")
    case = case_of(lab, _RECV)
    assert watcher(case, waiters(case)[0]) == "the program that armed B.cq0"


def test_is_quiet_after_the_last_request_of_the_peer() -> None:
    lab = lab_of(RECV, _WRITE)
    case = case_of(lab, _RECV)
    (qp,) = waiters(case)
    assert not is_quiet(case, qp)
    well(lab, "run")
    assert is_quiet(case, qp)


def test_done_by_peer_since_its_last_message() -> None:
    lab = lab_of(RECV, _WRITE, SEND, "run", RECV, _WRITE, "run")
    case = case_of(lab, _RECV)
    (done,) = done_by_peer(case, waiters(case)[0])
    assert (done.wqe.wr.wr_id, done.takes_receive) == (4, False)
    assert done.event > 20


def test_a_message_that_never_arrived_was_done_all_the_same() -> None:
    lab = lab_of("fault drop A->B nth=1", RECV, SEND, _WRITE, "run", pair="use uc_pair")
    case = case_of(lab, _RECV)
    assert [each.takes_receive for each in done_by_peer(case, waiters(case)[0])] == [True, False]


def test_a_life_before_the_connection_does_not_count() -> None:
    lab = lab_of(_WRITE, "run", "reset A.qp0", "reset B.qp0", "connect A.qp0 B.qp0", RECV)
    case = case_of(lab, _RECV)
    assert done_by_peer(case, waiters(case)[0]) == []
