"""How a failure is told."""

from rdmalab.scenario.result import StepOutcome
from tests.scenario.playing import PAIR, failure_text, last

SETUP = f"{PAIR}  - post_send A.qp0 opcode=SEND wr_id=7 sg=A.mr0[0:64]\n"
STEP = """\
  - id: first-nak
    run: until A.qp0.rnr_timer.armed
    wire:
      - A->B SEND_ONLY psn=0 len=64
      - B->A ACKNOWLEDGE psn=0 syndrome=ACK msn=1
"""


def test_expected_and_actual_stand_below_each_other_and_the_last_packets_follow() -> None:
    assert failure_text(SETUP + STEP).splitlines() == [
        "FAIL x.yaml:6  step first-nak  wire line 2",
        "  expected  B->A ACKNOWLEDGE psn=0 syndrome=ACK msn=1",
        "  actual    B->A ACKNOWLEDGE psn=0 syndrome=RNR_NAK msn=0 timer=12  [ev 17, 1.210 us]",
        "",
        "  last on the wire:",
        "    0.100 us A->B SEND_ONLY psn=0 64 B ack_req  (refused: no receive WQE is posted)",
        "    1.210 us B->A RNR_NAK psn=0 timer=12",
        "    2.215 us A.qp0 armed its RNR timer, due at 642.215 us",
    ]


def test_a_step_that_passed_has_nothing_to_tell() -> None:
    result = last(SETUP)
    assert result.outcome is StepOutcome.PASSED
    assert result.text("x.yaml") == ""


def test_the_failure_of_a_refused_value_has_the_legal_values() -> None:
    steps = f"{PAIR}  - modify_qp A.qp0 state=RESET\n"
    moved = "modify_qp A.qp0 state=INIT pkey_index=0 port_num=7 qp_access_flags=0"
    assert failure_text(f"{steps}  - {moved}\n").splitlines() == [
        "FAIL x.yaml:6  do",
        f"  expected  {moved} succeeds",
        "  actual    EINVAL: port_num=7 is out of range; port_num takes 1..1",
    ]
