"""Whose turn it is, and what holds it up."""

from rdmalab.doctor.facts.line import held, held_text, posted
from tests.doctor.asking import case_of
from tests.labs import SEND, lab_of

_READ = "post_send A.qp0 wr_id={} opcode=RDMA_READ sg=A.mr0[0:8] remote=B.mr0[8] flags=SIGNALED"
_TWO = (_READ.format(2), _READ.format(3))


def test_held_request_and_those_under_way() -> None:
    lab = lab_of(*_TWO, SEND, "step", "step")
    case = case_of(lab, "A.qp0.wr[1]")
    hold = held(case)
    assert hold is not None
    assert (hold.reason, hold.wqe.wr.wr_id, hold.ahead) == ("rd-atomic", 3, "wr2 RDMA_READ 8 B")
    assert held_text(case, hold) == "wr3 RDMA_READ 8 B, before it in line,"
    assert posted(case, hold.wqe) == posted(case, hold.under_way[0]) + 1  # type: ignore[operator]
    own = case_of(lab, "A.qp0.wr[3]")
    assert held_text(own, hold) == "wr3 RDMA_READ 8 B"


def test_held_is_none_for_started_or_ready_requests() -> None:
    lab = lab_of(*_TWO, "step", "step")
    assert held(case_of(lab, "A.qp0.wr[2]")) is None
    assert held(case_of(lab_of(SEND), "A.qp0.wr[1]")) is None
