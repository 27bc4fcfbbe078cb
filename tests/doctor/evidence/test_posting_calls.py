"""What a refused call handed over, and how much of it is on the queue all the same."""

from rdmalab.doctor.evidence import posting_calls
from rdmalab.doctor.evidence.log import Log
from rdmalab.doctor.evidence.work_of_queues import newest_receive, newest_send
from rdmalab.lab import Lab
from tests.doctor.asking import case_of
from tests.labs import lab_of

_LIST = (
    "post_send A.qp0 wr={wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:4] remote=B.mr0[0]} "
    "wr={wr_id=2 opcode=99} wr={wr_id=3 opcode=SEND sg=A.mr0[0:9]} bad_wr=&bad_wr"
)


def refused(*lines: str, pair: str = "use rc_pair") -> Lab:
    lab = lab_of(*lines[:-1], pair=pair)
    assert lab.do(lines[-1])[-1].refusal is not None
    return lab


def of_send(lab: Lab, name: str, wr_id: int) -> posting_calls.Attempt | None:
    log, thing = Log(lab.session), lab.session.names.find(name)
    assert thing is not None
    return posting_calls.latest_attempt(log, newest_send(lab.session, log, thing, wr_id))


def handed_over(lab: Lab, errno: str) -> posting_calls.Attempt | None:
    case = case_of(lab, errno)
    return posting_calls.of_call(case.log, case.call)


def queue_of_call(lab: Lab) -> object:
    case = case_of(lab, "EINVAL")
    return posting_calls.queue_of(case.world, case.call)


def test_attempt_has_posted_and_left_requests() -> None:
    attempt = handed_over(refused(_LIST), "EINVAL")
    assert attempt is not None
    assert attempt.posted == 1
    assert [posting_calls.id_of(wr) for wr in attempt.left] == [2, 3]
    assert attempt.is_bad(2)
    assert 3 in attempt.left_ids
    assert 1 not in attempt.left_ids
    assert posting_calls.posted_text(attempt) == "1 of 3 was posted, not wr2 wr3"


def test_latest_attempt_of_an_unposted_request() -> None:
    lab = refused(_LIST)
    assert of_send(lab, "A.qp0", 3) is not None
    assert of_send(lab, "A.qp0", 1) is None
    assert of_send(lab, "A.qp0", 4) is None
    assert of_send(lab, "B.qp0", 3) is None


def test_a_call_of_a_program_is_found_too() -> None:
    lab = lab_of("program A.p lines={try post_send A.qp0 wr_id=7 opcode=99}", "run")
    found = of_send(lab, "A.qp0", 7)
    assert found is not None
    assert found.call.program == "A.p"


def test_a_receive_is_not_looked_for_among_sends() -> None:
    lab = refused("post_send A.qp0 wr_id=7 opcode=99")
    log, thing = Log(lab.session), lab.session.names.find("A.qp0")
    assert thing is not None
    assert posting_calls.latest_attempt(log, newest_receive(lab.session, log, thing, 7)) is None


def test_queue_of_a_call() -> None:
    srq = refused("post_srq_recv B.srq0 wr_id=1 sg=" + ",".join(["B.mr0[0:4]"] * 9),
                  pair="use srq_pair")  # fmt: skip
    assert queue_of_call(srq) is srq.session.world.nodes["B"].srqs.find(
        next(iter(srq.session.world.nodes["B"].srqs.items))
    )
    other = refused("create_cq A.cq9 cqe=0")
    assert queue_of_call(other) is None


def test_corrected_call_has_other_requests_and_bad_wr() -> None:
    lab = refused(_LIST)
    attempt = handed_over(lab, "EINVAL")
    assert attempt is not None
    answer = posting_calls.corrected_call(lab.session, attempt, attempt.left[1:])
    assert answer == "post_send A.qp0 wr_id=3 opcode=SEND sg=A.mr0[0:9]"
    (wr,) = posting_calls.bound(lab.session, attempt, attempt.left[1:])
    assert wr.sg[0].length == 9


def test_no_list_is_no_request() -> None:
    attempt = handed_over(refused("post_send A.qp0 wr={opcode=99}"), "EINVAL")
    assert attempt is not None
    assert posting_calls.posted_text(attempt) == "wr0 was not posted"
    assert handed_over(refused("dealloc_pd A.pd0"), "EBUSY") is None
