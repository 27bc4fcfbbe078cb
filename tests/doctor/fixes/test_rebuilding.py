"""A region once more, where a program built it."""

from rdmalab.doctor.evidence import posting_calls
from rdmalab.doctor.fixes import reposting
from tests.doctor.asking import case_of
from tests.doctor.evidence.test_batches import BUILT, EX, thing
from tests.labs import lab_of, well


def test_rebuild_lines_of_a_program() -> None:
    lines = "; ".join((*BUILT, "wr_abort A.qp1"))
    lab = lab_of(*EX, f"program A.p lines={{{lines}}}", "run")
    case = case_of(lab, "A.qp1.wr[6]")
    (batch,) = posting_calls.batches(case.log, thing(lab))
    again = reposting.rebuild(case, batch)
    assert again is not None
    for line in (*again, "run"):
        well(lab, line)
    assert lab.look("A.cq0.total(status=SUCCESS) == 1")  # the READ is not signaled


def test_rebuild_is_none_for_a_stopped_program() -> None:
    lines = "; ".join((*BUILT, "wr_abort A.qp1"))
    lab = lab_of(*EX, f"program A.p lines={{{lines}}}", "run", "stop A.p")
    case = case_of(lab, "A.qp1.wr[6]")
    (batch,) = posting_calls.batches(case.log, thing(lab))
    assert reposting.rebuild(case, batch) is None
