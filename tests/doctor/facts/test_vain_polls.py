"""Completion queues that are polled although no work is left for them."""

from rdmalab.doctor.check import Verdict
from rdmalab.doctor.evidence.outcome import Status
from rdmalab.grammar.expressions import parse_expression
from tests.doctor.asking import chain, verdict, why
from tests.labs import lab_of

_WRITE = "post_send A.qp0 wr_id={} opcode=RDMA_WRITE sg=A.mr0[0:4] remote=B.mr0[0] flags=SIGNALED"
_TWO = [
    "use rc_pair",
    "post_send A.qp0 wr_id=2 opcode=RDMA_WRITE sg=A.mr0[0:64] remote=B.mr0[0]",
    _WRITE.format(3),
    "run",
]


def test_a_queue_that_is_polled_for_an_unsignaled_request_names_it() -> None:
    lab = lab_of(*_TWO, "poll_cq A.cq0", "poll_cq A.cq0")
    assert verdict(lab, "A.cq0", "unsignaled") is Verdict.WARN
    assert not why(lab, "A.cq0").is_trouble  # who polls until it is empty does so, too
    lab.session.unanswered = [parse_expression("A.cq0").node]  # a program of the host hangs
    assert (chain(lab, "")[0], why(lab, "").outcome.kind) == ("unsignaled", Status.NEVER)


def test_a_queue_that_is_polled_once_too_often_has_no_work_left() -> None:
    lab = lab_of("use rc_pair", _WRITE.format(3), "run", "poll_cq A.cq0", "poll_cq A.cq0")
    assert verdict(lab, "A.cq0", "nothing-outstanding") is Verdict.WARN
    assert verdict(lab, "A.cq0", "unsignaled") is Verdict.NA


def test_a_queue_with_work_outstanding_is_not_blamed_for_a_silent_one() -> None:
    receive = "post_recv A.qp0 wr_id=9 sg=A.mr0[0:64]"
    lab = lab_of(*_TWO, receive, "poll_cq A.cq0", "poll_cq A.cq0")
    assert verdict(lab, "A.cq0", "unsignaled") is Verdict.NA
    lab = lab_of(*_TWO, "poll_cq A.cq0")  # and no poll was in vain
    assert verdict(lab, "A.cq0", "unsignaled") is Verdict.NA
