"""Critical regions read from the log."""

import pytest

from rdmalab.command import Thing
from rdmalab.doctor.evidence import posting_calls
from rdmalab.doctor.evidence.log import Log
from rdmalab.doctor.evidence.subject import Sort, Subject
from rdmalab.doctor.evidence.work_of_queues import newest_send
from rdmalab.doctor.fixes import reposting
from rdmalab.lab import Lab
from tests.doctor.asking import case_of
from tests.labs import lab_of

EX = (
    "create_qp_ex A.qp1 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0 "
    "send_ops_flags=SEND|RDMA_WRITE|RDMA_READ",
    "reset B.qp0",
    "connect A.qp1 B.qp0",
)
BUILT = (
    "wr_start A.qp1",
    "wr_set A.qp1 wr_flags=SIGNALED",
    "wr_rdma_write A.qp1 wr_id=5 remote=B.mr0[0]",
    "wr_set_inline_data A.qp1 buf=A.mr0[0:6]",
    "wr_rdma_read A.qp1 wr_id=6 wr_flags=SOLICITED remote=B.mr0[8]",
    "wr_set_sge A.qp1 sg=A.mr0[8:16]",
)


def thing(lab: Lab) -> Thing:
    found = lab.session.names.find("A.qp1")
    assert found is not None
    return found


def test_a_batch_has_requests_and_setters() -> None:
    lab = lab_of(*EX, *BUILT)
    (batch,) = posting_calls.batches(Log(lab.session), thing(lab))
    assert [built.wr.wr_id for built in batch.built] == [5, 6]
    assert [built.data_setter.verb for built in batch.built if built.data_setter] == [
        "wr_set_inline_data", "wr_set_sge",
    ]  # fmt: skip
    assert batch.closed is None
    assert batch.spoiled is None


@pytest.mark.parametrize(
    ("end", "ending"), [("wr_complete A.qp1", "posted"), ("wr_abort A.qp1", "aborted")]
)
def test_a_batch_has_its_ending(end: str, ending: str) -> None:
    lab = lab_of(*EX, *BUILT, end)
    (batch,) = posting_calls.batches(Log(lab.session), thing(lab))
    assert batch.ending == ending
    assert batch.refusal(Log(lab.session)) is None


def test_a_batch_error_has_the_event_of_its_setter() -> None:
    lab = lab_of(*EX, *BUILT, "wr_set_sge A.qp1 sg=A.mr0[0:6]")
    lab.do("wr_complete A.qp1")
    log = Log(lab.session)
    (batch,) = posting_calls.batches(log, thing(lab))
    refusal = batch.refusal(log)
    assert refusal is not None
    assert batch.spoiled == refusal.event - 1
    assert posting_calls.closed_by(log, refusal) == batch


def test_latest_batch_that_did_not_post() -> None:
    lab = lab_of(*EX, *BUILT, "wr_abort A.qp1", *BUILT)
    log = Log(lab.session)
    found = posting_calls.latest_batch(log, newest_send(lab.session, log, thing(lab), 5))
    assert found is not None
    assert found.closed is None
    assert posting_calls.latest_batch(log, newest_send(lab.session, log, thing(lab), 9)) is None
    assert posting_calls.latest_batch(log, Subject(Sort.QP, thing(lab))) == found


def test_wr_complete_without_wr_start_closes_no_batch() -> None:
    lab = lab_of(*EX, "wr_complete A.qp1", *BUILT)
    (batch,) = posting_calls.batches(Log(lab.session), thing(lab))
    assert batch.closed is None


def test_rebuild_lines_have_wr_id_and_wr_flags() -> None:
    lab = lab_of(*EX, *BUILT, "wr_abort A.qp1")
    case = case_of(lab, "A.qp1.wr[5]")
    (batch,) = posting_calls.batches(case.log, thing(lab))
    lines = reposting.rebuild(case, batch)
    assert lines == [
        "wr_start A.qp1",
        "wr_rdma_write A.qp1 remote=B.mr0[0] wr_id=5 wr_flags=SIGNALED",
        "wr_set_inline_data A.qp1 buf=A.mr0[0:6]",
        "wr_rdma_read A.qp1 remote=B.mr0[8] wr_id=6 wr_flags=SOLICITED",
        "wr_set_sge A.qp1 sg=A.mr0[8:16]",
        "wr_complete A.qp1",
    ]


def test_rebuild_can_replace_the_setters_of_a_builder() -> None:
    lab = lab_of(*EX, *BUILT, "wr_abort A.qp1")
    case = case_of(lab, "A.qp1.wr[5]")
    (batch,) = posting_calls.batches(case.log, thing(lab))
    lines = reposting.rebuild(case, batch, lambda built: [] if built.wr.wr_id == 5 else None, 4)
    assert lines is not None
    assert lines[1:3] == [
        "wr_rdma_write A.qp1 remote=B.mr0[0] wr_id=5 wr_flags=SIGNALED|SOLICITED",
        "wr_rdma_read A.qp1 remote=B.mr0[8] wr_id=6 wr_flags=SOLICITED",
    ]
