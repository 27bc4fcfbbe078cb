"""Sends that found a shared receive queue empty."""

from rdmalab.doctor.facts.receivers import Refused, refused
from rdmalab.lab import Lab
from tests.doctor.asking import case_of
from tests.labs import SEND, lab_of, well

_TO_SRQ = SEND.replace("opcode=SEND", "opcode=SEND remote_srqn=B.srq0")


def found(lab: Lab) -> Refused | None:
    return refused(case_of(lab, "A.qp0.wr[1]"))


def test_refused_by_an_empty_srq_after_rnr_retry_exc() -> None:
    lab = lab_of(SEND, "run 5us", pair="use srq_pair rnr_retry=2 min_rnr_timer=12")
    assert found(lab) is None
    well(lab, "run")
    answer = found(lab)
    assert answer is not None
    assert lab.session.names.of(answer.thing) == "B.srq0"
    assert len(answer.events) == 3


def test_an_own_queue_is_nobodys_else() -> None:
    assert found(lab_of(SEND, "run", pair="use rc_pair rnr_retry=1")) is None


def test_xrc_names_the_queue() -> None:
    answer = found(lab_of(_TO_SRQ, "run", pair="use xrc_pair rnr_retry=1"))
    assert answer is None or answer.srq.number == 0x31


def test_refused_by_a_failed_srq_while_retrying() -> None:
    lab = lab_of("fault srq_error srq=B.srq0", SEND, "run 5us",
                 pair="use srq_pair rnr_retry=7 min_rnr_timer=12")  # fmt: skip
    answer = found(lab)
    assert answer is not None
    assert answer.srq.dead
