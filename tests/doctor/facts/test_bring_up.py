"""What the ends were given, when, and which of them began again."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts.bring_up import Ends, began_alone, ends, psn_gap, set_at, stays_unanswered
from rdmalab.lab import Lab
from rdmalab.spec.states import Attr, QPState
from tests.doctor.asking import case_of
from tests.labs import RECV, SEND, lab_of

_WR = "A.qp0.wr[1]"


def both(lab: Lab, what: str = _WR) -> tuple[Case, Ends]:
    case = case_of(lab, what)
    found = ends(case)
    assert found is not None
    return case, found


def names(case: Case, found: Ends) -> list[str]:
    return [case.qp_name(qp) for qp in found]


def test_ends_of_a_send_and_of_a_receive() -> None:
    lab = lab_of(RECV, SEND)
    assert names(*both(lab)) == ["A.qp0", "B.qp0"]
    assert names(*both(lab, "B.qp0.recv_wr[2]")) == ["A.qp0", "B.qp0"]
    assert ends(case_of(lab_of("reset A.qp0"), "A.qp0")) is None


def test_an_attribute_has_the_event_of_the_last_call_that_set_it() -> None:
    lab = lab_of(SEND)
    case, (sender, _) = both(lab)
    before = set_at(case, sender, Attr.MIN_RNR_TIMER)
    lab.do("modify_qp A.qp0 min_rnr_timer=3")
    case, (sender, _) = both(lab)
    assert set_at(case, sender, Attr.MIN_RNR_TIMER) == lab.session.world.event != before
    assert set_at(case, sender, Attr.ALT_PATH) is None


def test_last_entered_is_the_last_transition() -> None:
    lab = lab_of("modify_qp A.qp0 state=SQD", "modify_qp A.qp0 state=RTS", SEND)
    case, (sender, _) = both(lab)
    assert case.log.last_entered(sender.thing, QPState.RTS) == lab.session.world.event - 1
    assert case.log.last_entered(sender.thing, QPState.SQE) is None


def test_began_alone_is_the_end_that_was_reset() -> None:
    again = ("reset A.qp0", "to_rts A.qp0 B.qp0", SEND)
    case, found = both(lab_of(RECV, SEND, "run", *again))
    alone = began_alone(case, found)
    assert alone is not None
    assert case.qp_name(alone[0]) == "A.qp0"
    assert began_alone(*both(lab_of(*again))) is None  # B had not moved on
    anew = ("reset A.qp0", "reset B.qp0", "connect A.qp0 B.qp0", RECV, SEND)
    assert began_alone(*both(lab_of(RECV, SEND, "run", *anew))) is None


def test_the_gap_between_first_numbers_is_measured_on_the_circle() -> None:
    lab = lab_of(SEND)
    _, found = both(lab)
    found.sender.attr.sq_psn, found.receiver.attr.rq_psn = 1, 0xFFFFFF
    assert psn_gap(found) == 2
    found.sender.attr.sq_psn, found.receiver.attr.rq_psn = 0xFFFFFF, 1
    assert psn_gap(found) == -2


def test_stays_unanswered_after_or_before_retry_exc() -> None:
    down = ("link down", SEND, "run 1us")
    assert stays_unanswered(case_of(lab_of(RECV, *down), _WR))
    assert not stays_unanswered(case_of(lab_of(RECV, *down, "link up"), _WR))
    gone = lab_of(RECV, "link down", SEND, "run", pair="use rc_pair retry_cnt=1 timeout=8")
    assert stays_unanswered(case_of(gone, _WR))
