"""Who held the slots of a send queue when a call found none."""

import pytest

from rdmalab.doctor.asking.subjects import subjects
from rdmalab.doctor.case import Case
from rdmalab.doctor.evidence.log import Log
from rdmalab.doctor.facts.full_queues import Backlog, answer, backlog, gets_on
from rdmalab.doctor.fixes.reposting import after_polling
from rdmalab.grammar.expressions import parse_expression
from rdmalab.lab import Lab
from tests.labs import RECV, SEND, lab_of, refusal, well

_READ = "post_send A.qp0 wr_id=5 opcode=RDMA_READ sg=A.mr0[0:8] remote=B.mr0[0] flags=SIGNALED"
_FULL = "use rc_pair max_send_wr=2"


def full(*lines: str, post: str = _READ) -> Lab:
    lab = lab_of(*lines, pair=_FULL)
    refusal(lab, post)
    return lab


def case_of(lab: Lab, asked: str = "ENOMEM") -> Case:
    log = Log(lab.session)
    (subject,) = subjects(lab.session, log, parse_expression(asked, "A").node)
    return Case(lab.session, subject, log, asked=True)


def found_in(case: Case) -> Backlog:
    found = backlog(case)
    assert found is not None
    return found


def test_backlog_at_the_call_oldest_first() -> None:
    lab = full(RECV, SEND, "run", "poll_cq A.cq0", _READ, _READ.replace("=5 ", "=6 "))
    found = found_in(case_of(lab))
    assert [send.subject.wr_id for send in found.sends] == [5, 6]
    assert (found.all_under_way, found.signaled) == (True, 2)
    for line in ("run", "poll_cq A.cq0 num_entries=2", _READ):
        well(lab, line)
    assert [send.subject.wr_id for send in found_in(case_of(lab)).sends] == [5, 6]
    assert found_in(case_of(lab)).all_under_way


def test_backlog_of_completed_sends_is_not_under_way() -> None:
    assert not found_in(case_of(full(_READ, _READ, "run"))).all_under_way


def test_another_refusal_is_no_full_send_queue() -> None:
    lab = lab_of(pair="use rc_pair max_recv_wr=1")
    well(lab, RECV)
    refusal(lab, RECV)
    refusal(lab, "modify_qp A.qp0 state=RTR")
    assert backlog(case_of(lab)) is None
    assert backlog(case_of(lab, "EINVAL")) is None


def test_an_answer_is_a_receive_polled_since_the_last_of_them_was_posted() -> None:
    message = ("post_recv A.qp0 sg=A.mr0[0:8]", "post_send B.qp0 opcode=SEND", "run 2us")
    late = "fault delay B->A 50us opcode=RDMA_READ_RESPONSE_ONLY"
    before = case_of(full(*message, "poll_cq A.cq0", _READ, _READ))
    after = case_of(full(late, _READ, _READ, *message, "poll_cq A.cq0"))
    assert answer(before, found_in(before)) is None
    assert answer(after, found_in(after)) is not None


@pytest.mark.parametrize(
    ("lines", "so"),
    [
        ((_READ, _READ, "run 500ns"), True),
        ((SEND, SEND, "run 2ms"), False),
        (("fault drop A->B", _READ, _READ, "run 1s"), False),
    ],
)
def test_gets_on_without_retransmissions(lines: tuple[str, ...], so: bool) -> None:
    case = case_of(full(*lines))
    assert gets_on(case, found_in(case).sends[0]) is so


def test_lines_after_polling_run_first_if_under_way() -> None:
    lab = full(_READ, _READ)
    case = case_of(lab)
    assert after_polling(case, found_in(case)) == ["run", "poll_cq A.cq0 num_entries=2", _READ]
    well(lab, "run")
    case = case_of(lab)
    assert after_polling(case, found_in(case)) == ["poll_cq A.cq0 num_entries=2", _READ]
