"""Who holds the slots of a full queue."""

from rdmalab.doctor.facts import full_queues
from rdmalab.lab import Lab
from tests.doctor.asking import case_of
from tests.labs import RECV, SEND, lab_of

_QUIET = "post_send A.qp0 wr_id=9 opcode=RDMA_WRITE sg=A.mr0[0:1] remote=B.mr0[0]"


def slots(lab: Lab) -> full_queues.Slots:
    qp = case_of(lab, "A.qp0").qp
    assert qp is not None
    return full_queues.slots(qp)


def test_slots_wasted_by_unsignaled_requests() -> None:
    assert not slots(lab_of(_QUIET, _QUIET)).wasted
    assert slots(lab_of(_QUIET, _QUIET, "run")).wasted
    assert not slots(lab_of(_QUIET, f"{_QUIET} flags=SIGNALED", "run")).wasted


def test_unpolled_completions_of_other_queues() -> None:
    lab = lab_of("post_recv A.qp0 wr_id=4", RECV, "post_send B.qp0 opcode=SEND", SEND, "run")
    case = case_of(lab, "A.qp0.wr[1]")
    assert case.qp is not None
    cq, many, last = full_queues.unpolled(case, case.qp, is_send=True)
    assert cq is not None
    assert (many, last) == (1, [c.is_send for c in cq.cqes].index(True) + 1)


def test_the_event_of_a_post_is_found() -> None:
    lab = lab_of(_QUIET, _QUIET)
    case = case_of(lab, "A.qp0.wr[9]")
    assert case.qp is not None
    wqes = list(case.qp.sq.wqes.values())
    assert full_queues.posted(case, case.qp, wqes[1]) == case.world.event
    assert full_queues.posted(case, case.qp, wqes[0]) == case.world.event - 1
