"""The moments of a subject, and the world as it was at one of them."""

from rdmalab.doctor.asking.subjects import subjects
from rdmalab.doctor.evidence.log import Log
from rdmalab.doctor.evidence.subject import Subject
from rdmalab.doctor.moments.moments import Why, before_stops, is_ordered, moments, teardowns, visit
from rdmalab.grammar.expressions import parse_expression
from rdmalab.lab import Lab
from tests.digest import digest
from tests.labs import RECV, SEND, lab_of

_BAD = "post_send A.qp0 wr_id=3 opcode=RDMA_WRITE sg=A.mr0[0:64] rkey=1 flags=SIGNALED"
_RESET = ("modify_qp A.qp0 state=RESET", "modify_qp B.qp0 state=RESET")


def subject_of(lab: Lab, text: str) -> Subject:
    node = parse_expression(text, "A").node
    return subjects(lab.session, Log(lab.session), node)[0]


def chain(lab: Lab, text: str) -> list[tuple[Why, int]]:
    found = moments(lab.session, Log(lab.session), subject_of(lab, text))
    return [(moment.why, moment.event) for moment in found]


def event(lab: Lab) -> int:
    return lab.session.world.event


def test_moments_of_a_failed_request() -> None:
    lab = lab_of(_BAD, "run")
    ended = event(lab)
    lab.do("run 1ms")
    lab.do("query_qp A.qp0")
    now = event(lab)
    assert chain(lab, "A.qp0.wr[3]") == [(Why.ENDED, ended), (Why.NOW, now)]
    for line in _RESET:
        lab.do(line)
    assert chain(lab, "A.qp0.wr[3]")[0] == (Why.ENDED, ended)
    assert (Why.BEFORE_TEARDOWN, now) in chain(lab, "A.qp0.wr[3]")


def test_moments_of_a_waiting_request_with_teardown() -> None:
    lab = lab_of(SEND, "run 1ms")
    before = event(lab)
    lab.do("destroy_qp B.qp0")
    lab.do("destroy_qp A.qp0")
    lab.do("destroy_cq A.cq0")
    found = [(Why.BEFORE_TEARDOWN, before), (Why.TEARDOWN, event(lab) - 1)]
    assert chain(lab, "A.qp0.wr[1]") == found


def test_teardowns_divided_by_a_bring_up() -> None:
    lab = lab_of(*_RESET, "connect A.qp0 B.qp0", *_RESET)
    assert [len(row) for row in teardowns(Log(lab.session))] == [2, 2]


def test_a_flush_is_ordered_if_a_call_moved_the_queue_pair_to_err() -> None:
    lab = lab_of(RECV, "modify_qp B.qp0 state=ERR")
    assert is_ordered(lab.session, Log(lab.session), subject_of(lab, "B.qp0.recv_wr[2]"))
    lab = lab_of(RECV, _BAD, "run")
    assert not is_ordered(lab.session, Log(lab.session), subject_of(lab, "B.qp0.recv_wr[2]"))


def test_visit_of_an_earlier_event() -> None:
    lab = lab_of(RECV, SEND, "run", "destroy_qp A.qp0")
    session, before = lab.session, digest(lab.session.world.trace)
    with visit(Log(session), 14) as log:
        assert session.world.event == 14
        assert log.count < session.world.trace.latest + 2
        assert "A.qp0" in session.names.all()
    assert digest(session.world.trace) == before
    assert "A.qp0" not in session.names.all()


def test_before_stops_is_before_the_first_thread_that_was_stopped_while_it_waited() -> None:
    lab = lab_of("program A.one lines={poll A.cq0}", "program B.two lines={sleep 1us}", "run 9us")
    waits = event(lab)
    for line in ("stop A.one", "stop B.two", "query_qp A.qp0"):
        lab.do(line)
    assert before_stops(Log(lab.session), event(lab)) == waits
    assert before_stops(Log(lab.session), waits) == waits
    lab.do(SEND)
    assert before_stops(Log(lab.session), event(lab)) == event(lab)
