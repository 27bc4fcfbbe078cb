"""The first word of the answer."""

import pytest

from rdmalab.doctor.asking.subjects import subjects
from rdmalab.doctor.evidence import log as log_room
from rdmalab.doctor.evidence.log import Log
from rdmalab.doctor.evidence.outcome import Status, SubjectOutcome, outcome_of
from rdmalab.grammar.expressions import parse_expression
from rdmalab.lab import Lab
from tests.labs import RECV, SEND, lab_of

_WRITE = "post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:64]"


def stands(lab: Lab, asked: str) -> SubjectOutcome:
    log = Log(lab.session)
    (subject, *_) = subjects(lab.session, log, parse_expression(asked, "A").node)
    return outcome_of(lab.session, subject, log)


@pytest.mark.parametrize(
    ("lines", "asked", "kind"),
    [
        ((), "A.qp0.wr[1]", Status.NEVER),
        ((), "A.qp0", Status.WELL),
        (("modify_qp A.qp0 state=ERR",), "A.qp0", Status.FAILED),
        ((SEND,), "A.qp0.wr[1]", Status.PENDING),
        ((RECV, SEND, "run"), "A.qp0.wr[1]", Status.COMPLETED),
        ((RECV, SEND, "run"), "A.cq0", Status.COMPLETED),
        ((f"{_WRITE} rkey=1", "run"), "A.cq0", Status.FAILED),
        ((RECV, SEND, "run"), "B.qp0.recv_wr[2]", Status.COMPLETED),
        ((RECV,), "B.qp0.recv_wr[2]", Status.PENDING),
        ((f"{_WRITE} remote=B.mr0[0]", "run"), "A.qp0.wr[1]", Status.NEVER),
        ((f"{_WRITE} rkey=1 flags=SIGNALED", "run"), "A.qp0.wr[1]", Status.FAILED),
        ((SEND, "step 2", "modify_qp A.qp0 state=RESET"), "A.qp0.wr[1]", Status.LOST),
        ((SEND, "step 2", "destroy_qp A.qp0"), "A.qp0.wr[1]", Status.LOST),
        ((f"{_WRITE} remote=B.mr0[0]", "run"), "B.mr0[0:8]", Status.WELL),
        ((f"{_WRITE} remote=B.mr0[0]", "run"), "B.mr0[64:65]", Status.NEVER),
        (("program A.p lines={get_async_event A}", "run"), "A.p", Status.PENDING),
        (("program A.p lines={poll_cq A.cq0}", "run"), "A.p", Status.WELL),
        (("program A.p lines={destroy_cq A.cq0}", "run"), "A.p", Status.REFUSED),
        ((), "A.cq0", Status.PENDING),
    ],
)
def test_outcome_kind(lines: tuple[str, ...], asked: str, kind: Status) -> None:
    assert stands(lab_of(*lines), asked).kind is kind


def test_a_queue_pair_in_error_has_flushed_its_work_and_lost_nothing() -> None:
    lab = lab_of("modify_qp A.qp0 state=ERR")
    assert stands(lab, "A.qp0").sentence == "it is in ERR, where work requests are flushed"


def test_outcome_names_the_program_that_polled() -> None:
    lab = lab_of(RECV, SEND, "run", "program A.rx lines={poll_cq A.cq0}", "run")
    assert "A.rx polled its completion" in stands(lab, "A.qp0.wr[1]").sentence


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ("A.qp0.wr[1]", "it was not posted since ev 21; the log does not keep earlier events"),
        ("B.qp0.recv_wr[2]", "it was not posted since ev 21; the log does not keep earlier events"),
        (
            "B.mr0[0:8]",
            "no message was written there since ev 21; the log does not keep earlier events",
        ),
    ],
)
def test_outcome_is_unknown_for_dropped_records(
    asked: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_room, "ENOUGH", 0)
    lab = lab_of(RECV, SEND, "run", "poll_cq A.cq0", "poll_cq B.cq0")
    trace = lab.session.world.trace
    trace.forget(trace.latest - 1)
    found = stands(lab, asked)
    assert (found.kind, found.sentence) == (Status.UNKNOWN, sentence)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [("poll A.cq0", "it is in line 1"), ("get_async_event A", "it waits in line 1")],
)
def test_outcome_of_a_program_has_its_line(line: str, sentence: str) -> None:
    lab = lab_of(f"program A.p lines={{{line}}}", "run 1us")
    assert stands(lab, "A.p").sentence == f"{sentence}: {line}"


def test_outcomes_that_are_no_failure() -> None:
    good = {kind for kind in Status if SubjectOutcome(kind, "").good}
    assert good == {Status.COMPLETED, Status.LATE, Status.WELL}
