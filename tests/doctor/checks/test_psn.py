"""Numbers that do not agree are a cause only while they matter."""

from rdmalab.doctor.check import Verdict
from rdmalab.doctor.checks.mtu import psn_mismatch_ahead as ahead
from rdmalab.doctor.checks.mtu import psn_mismatch_behind as behind
from tests.doctor.asking import case_of, played, why
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


_UP = ("use rc_pair", "reset A.qp0", "reset B.qp0")
_STEPS = ("modify_qp {0}.qp0 state=INIT pkey_index=0 port_num=1 qp_access_flags=REMOTE_WRITE; "
          "modify_qp {0}.qp0 state=RTR path_mtu=512 dest_qp_num={1}.qp0 rq_psn={2} "
          "max_dest_rd_atomic=1 min_rnr_timer=12 ah={1}; modify_qp {0}.qp0 state=RTS timeout=8 "
          "retry_cnt=1 rnr_retry=1 sq_psn={3} max_rd_atomic=1")  # fmt: skip
_WRITE = ("post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0[0] flags=SIGNALED; "
          "poll A.cq0")  # fmt: skip


def test_the_lines_of_programs_that_set_the_numbers_are_named() -> None:
    first, second = _STEPS.format("A", "B", 5, 900), _STEPS.format("B", "A", 90, 5)
    lab = played(*_UP, f"program B.up lines={{{second}}}",
                 f"program A.up lines={{{first}; sleep 1us; {_WRITE}}}", "run 20ms")  # fmt: skip
    text = why(lab, "A.qp0.wr[1]").text
    assert "sq_psn=900 of A.qp0 is not rq_psn=90 of B.qp0, set in line 3 of A.up" in text
    assert "B.qp0 was given rq_psn=90 in line 2 of B.up" in text
