"""Numbers that do not agree are a cause only while they matter."""

from rdmalab.doctor.check import Verdict
from rdmalab.doctor.checks.mtu import psn_mismatch_ahead as ahead
from rdmalab.doctor.checks.mtu import psn_mismatch_behind as behind
from tests.doctor.asking import case_of
from tests.labs import SEND, lab_of

_WR = "A.qp0.wr[1]"
_BEGUN = ("reset A.qp0", "to_rts A.qp0 B.qp0 psn=9", SEND, "run 10us")


def test_only_the_side_that_was_asked_about_is_blamed() -> None:
    case = case_of(lab_of(*_BEGUN), _WR)
    assert ahead.examine(case).verdict is Verdict.FAIL
    assert behind.examine(case).verdict is Verdict.OK


def test_psn_mismatch_shows_sq_psn_and_rq_psn() -> None:
    case = case_of(lab_of(*_BEGUN), _WR)
    finding = ahead.examine(case)
    texts = [each.text for each in finding.evidence]
    assert texts[:2] == ["sq_psn=9 of A.qp0 is not rq_psn=0 of B.qp0", "B.qp0 was given rq_psn=0"]
    assert finding.origin == finding.evidence[0].event


def test_psn_mismatch_not_for_a_reset_peer() -> None:
    case = case_of(lab_of(*_BEGUN, "reset B.qp0"), _WR)
    assert ahead.examine(case).verdict is Verdict.NA


def test_an_unreliable_receiver_takes_any_first_number() -> None:
    lab = lab_of("reset A.qp0", "to_rts A.qp0 B.qp0 psn=9", SEND, pair="use uc_pair")
    assert ahead.examine(case_of(lab, _WR)).verdict is Verdict.NA
