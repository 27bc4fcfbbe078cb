"""From a question to what it is about, and what is plainly wrong."""

import pytest

from rdmalab.command import NotUnderstood
from rdmalab.doctor.asking.questions import normalised
from rdmalab.doctor.asking.subjects import subjects
from rdmalab.doctor.evidence.log import Log
from rdmalab.doctor.evidence.subject import Sort, Subject
from rdmalab.grammar.expressions import parse_expression
from rdmalab.lab import Lab
from tests.doctor.asking import played, why
from tests.labs import RECV, SEND, lab_of

_BAD = "post_send A.qp0 wr_id=3 opcode=RDMA_WRITE sg=A.mr0[0:64] rkey=1 flags=SIGNALED"


def asked(lab: Lab, text: str = "") -> list[Subject]:
    node = parse_expression(text, "A").node if text else None
    log = Log(lab.session)
    return subjects(lab.session, log, normalised(lab.session, log, node))


def sorts(lab: Lab, text: str = "") -> list[tuple[str, int]]:
    return [(subject.sort.value, subject.wr_id) for subject in asked(lab, text)]


@pytest.mark.parametrize(
    "lines", [(), (RECV,), (SEND,), (RECV, SEND, "run"), (RECV, SEND, "step 3")]
)
def test_no_subject_for_completed_or_pending_work(lines: tuple[str, ...]) -> None:
    lab = lab_of(*lines)
    idle = lab.session.world.agenda.next_ns() is None
    assert idle or asked(lab) == []


def test_the_first_failure_is_a_subject_and_its_flushes_are_not() -> None:
    lab = lab_of(RECV, SEND, _BAD, SEND, "run")
    assert sorts(lab)[0] == ("send", 3)
    assert ("send", 1) not in sorts(lab)


def test_a_failure_is_no_subject_after_reset_and_success() -> None:
    lab = lab_of(_BAD, "run", "modify_qp A.qp0 state=RESET", "modify_qp B.qp0 state=RESET")
    assert sorts(lab) == [("send", 3)]
    for line in ("connect A.qp0 B.qp0", RECV, SEND, "run"):
        lab.do(line)
    assert sorts(lab) == []


def test_a_refused_call_is_no_subject_once_accepted() -> None:
    lab = lab_of("modify_qp A.qp0 state=RESET")
    lab.do(SEND)
    assert [subject.sort for subject in asked(lab)] == [Sort.CALL]
    for line in ("modify_qp B.qp0 state=RESET", "connect A.qp0 B.qp0", RECV, SEND, "run"):
        lab.do(line)
    assert asked(lab) == []


def test_a_waiting_program_is_a_subject_when_idle() -> None:
    lab = lab_of("program A.p lines={get_async_event A}", SEND, "run 1us")
    assert asked(lab) == []
    lab.do(RECV)
    lab.do("run")
    assert [subject.sort for subject in asked(lab)] == [Sort.PROGRAM]


def test_a_send_for_which_only_a_timer_runs_hangs() -> None:
    lab = lab_of(SEND, "run 1us")
    assert asked(lab) == []
    lab.do("run 10us")
    assert sorts(lab) == [("send", 1)]


def test_subjects_of_a_cq_with_its_work() -> None:
    lab = lab_of(RECV, SEND, "step 1")
    assert sorts(lab, "A.cq0") == [("completion queue", 0), ("send", 1)]
    assert sorts(lab, "B.cq0") == [("completion queue", 0), ("receive", 2)]


def test_subjects_of_a_qp_in_err_and_in_rts() -> None:
    up, down = (RECV, SEND, "run"), ("modify_qp A.qp0 state=ERR",)
    assert [s.sort for s in asked(lab_of(*up), "A.qp0")] == [Sort.SEND, Sort.QP]
    assert [s.sort for s in asked(lab_of(*up, *down), "A.qp0")] == [Sort.QP, Sort.SEND]


def test_any_object_can_be_asked_about() -> None:
    lab = lab_of("alloc_pd A.pd7", "alloc_mw A.mw0 pd=A.pd7 type=TYPE_2")
    for name in ("A.pd7", "A.mw0", "B.pd0"):
        report = lab.do(f"why {name}")[-1].value
        assert (report.name, report.slug) == (name, "well")
    lab.do("dealloc_pd A.pd7")
    assert lab.do("why A.pd7")[-1].value.slug == "in-use"
    assert lab.do("why A.mw0")[-1].value.slug == "in-use"
    for line in ("dealloc_mw A.mw0", "dealloc_pd A.pd7", "why A.mw0"):
        reply = lab.do(line)[-1]
    assert reply.value.slug == "well"


def test_subject_of_an_errno_is_the_last_refused_call() -> None:
    lab = lab_of("modify_qp A.qp0 state=RESET")
    lab.do(SEND)
    lab.do("dealloc_pd A.pd0")
    (call,) = asked(lab, "EINVAL")
    assert call.event == lab.session.world.event - 1
    (busy,) = asked(lab, "EBUSY")
    assert busy.event == lab.session.world.event


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A.qp9", 'nothing is called "A.qp9"'),
        ("EBUSY", "no call was refused with EBUSY"),
        ("EFOO", "is no errno"),
        ("A.mr0[4000:5000]", "leaves the region"),
        ("A.qp0.state", "why does not explain A.qp0.state"),
        ("1 + 1", "not a subject of why"),
    ],
)
def test_a_question_without_a_subject_is_an_error_with_a_hint(text: str, expected: str) -> None:
    with pytest.raises(NotUnderstood, match=expected) as wrong:
        asked(lab_of(), text)
    assert wrong.value.hint


def test_a_wr_id_that_only_the_other_queue_has_had_is_the_one_there() -> None:
    send = "post_send A.qp0 wr_id=12 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED"
    lab = played("use rc_pair", "post_recv B.qp0 wr_id=3 sg=B.mr0[0:32]", send, "run")
    for asked, name in (("B.qp0.wr[3]", "B.qp0.recv_wr[3]"), ("A.qp0.recv_wr[12]", "A.qp0.wr[12]")):
        report = why(lab, asked)
        assert (report.name, report.slug) == (name, "loc-len")
    report = why(lab, "B.qp0.wr[4]")
    assert report.slug == "not-posted"
    assert "no send was ever posted on B.qp0" in report.text


def test_a_receive_of_a_queue_pair_is_that_of_its_shared_queue() -> None:
    lab = lab_of(
        "create_srq B.srq0 pd=B.pd0 max_wr=4",
        "create_qp B.qp1 pd=B.pd0 qp_type=RC send_cq=B.cq0 recv_cq=B.cq0 srq=B.srq0",
        "post_srq_recv B.srq0 wr_id=1 sg=B.mr0[0:16]",
    )
    (found,) = asked(lab, "B.qp1.recv_wr[1]")
    srq = lab.session.names.find("B.srq0")
    assert (found.thing, found.sort, found.wr_id) == (srq, Sort.RECV, 1)
