"""The facts of a send, read off the log and the queue."""

from dataclasses import replace

import pytest

from rdmalab.doctor.evidence import log
from rdmalab.doctor.evidence.log import Log
from rdmalab.doctor.evidence.work_of_queues import newest_send
from rdmalab.doctor.evidence.work_requests import Send
from rdmalab.lab import Lab
from rdmalab.spec.refusals import Syndrome
from rdmalab.spec.statuses import WCStatus
from rdmalab.views.fates import Fate
from tests.labs import RECV, SEND, lab_of


def send_of(lab: Lab, wr_id: int = 1, name: str = "A.qp0") -> Send:
    thing, log = lab.session.names.find(name), Log(lab.session)
    assert thing is not None
    return Send(lab.session, newest_send(lab.session, log, thing, wr_id), log)


def test_send_never_posted() -> None:
    send = send_of(lab_of(SEND), wr_id=99)
    assert (send.wqe, send.posted, send.ending, send.added) == (None, None, None, None)
    assert not send.on_queue
    assert send.transmissions == []


def test_send_in_flight() -> None:
    lab = lab_of(SEND)
    assert (send_of(lab).on_queue, send_of(lab).begun) == (True, False)
    lab.do("step")
    send = send_of(lab)
    assert (send.on_queue, send.begun, send.ending) == (True, True, None)
    assert [row.fate for row in send.transmissions] == [Fate.IN_FLIGHT]


def test_send_has_cq_and_poll_of_its_completion() -> None:
    lab = lab_of(RECV, SEND, "run")
    send = send_of(lab)
    assert send.ending is not None
    assert send.ending.status is WCStatus.SUCCESS
    assert send.added is not None
    assert send.added.event == send.ending.event
    assert send.polled is None
    lab.do("program A.rx lines={poll_cq A.cq0}")
    lab.do("run")
    taken = send_of(lab).polled
    assert taken is not None
    assert taken.program == "A.rx"
    assert not send_of(lab).on_queue


def test_answers_of_a_send_after_trimming(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "ENOUGH", 0)
    lab = lab_of("modify_qp B.qp0 state=RTS min_rnr_timer=1", SEND, "run 1ms")
    trace, answers = lab.session.world.trace, send_of(lab).answers
    trace.forget(trace.latest - 30)
    after = send_of(lab)
    assert (after.posted, after.since) == (None, after.log.begins)
    assert 0 < len(after.answers) < len(answers)
    assert after.answers == answers[-len(after.answers) :]
    assert after.transmissions[-1].event > after.log.begins
    assert Send(lab.session, replace(after.subject, serial=-1), after.log).since is None


def test_transmissions_and_answers_of_a_send() -> None:
    lab = lab_of(
        "fault drop A->B nth=1", RECV, SEND, "run", RECV, SEND.replace("=1 ", "=5 "), "run"
    )
    send = send_of(lab)
    assert [row.fate for row in send.transmissions] == [Fate.LOST, Fate.RECEIVED]
    assert [row.syndrome for row in send.answers] == [Syndrome.ACK]
    assert [row.psn for row in send_of(lab, 5).transmissions] == [1]
    assert [row.psn for row in send_of(lab, 5).answers] == [1]


def test_two_sends_of_one_wr_id_differ_by_serial() -> None:
    lab = lab_of(RECV, SEND, "run", "poll_cq A.cq0", SEND)
    send = send_of(lab)
    assert send.subject.serial == 1
    assert send.ending is None
    assert send.polled is None


def test_send_discarded_by_reset() -> None:
    lab = lab_of(SEND, "step 3", "modify_qp A.qp0 state=RESET")
    send = send_of(lab)
    assert send.discarded == lab.session.world.event
    assert send.ending is None


def test_send_with_cq_overrun() -> None:
    lab = lab_of(RECV, RECV, SEND, SEND, "run", pair="use rc_pair cqe=1")
    overrun = send_of(lab).overrun
    assert overrun is not None
    assert send_of(lab).added is None
