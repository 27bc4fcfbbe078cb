"""EBUSY: the objects that hold a thing, by name, who made them, and the lines that release it."""

import pytest

from rdmalab.doctor.report.report import Report
from rdmalab.lab import Lab
from tests.doctor.asking import chain, played, why
from tests.doctor.tidying import destroy_all
from tests.labs import RECV, SEND

_CALLS = [
    ("destroy_cq A.cq0", ["A.qp0 uses A.cq0"]),
    ("dealloc_pd A.pd0", ["A.qp0 uses A.pd0", "A.pd0 is also used by", "A.mr0"]),
    ("destroy_comp_channel A.ch0", ["A.cq0 uses A.ch0"]),
    ("destroy_srq A.s", ["A.qs uses A.s"]),
    ("dealloc_pd A.parent", ["A.qd uses A.parent"]),
    ("dereg_mr A.mw_mr", ["A.w uses A.mw_mr"]),
]
_SETUP = (
    "use rc_pair channel=1", "create_srq A.s pd=A.pd0 max_wr=4",
    "create_qp A.qs pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0 srq=A.s",
    "alloc_td A.t", "alloc_parent_domain A.parent pd=A.pd0 td=A.t",
    "create_qp A.qd pd=A.parent qp_type=RC send_cq=A.cq0 recv_cq=A.cq0",
    "reg_mr A.mw_mr pd=A.pd0 length=64 access=LOCAL_WRITE|MW_BIND", "alloc_mw A.w pd=A.pd0 type=1",
    "bind_mw A.qp0 A.w bind=A.mw_mr[0:64] bind_access=REMOTE_READ", "run",
)  # fmt: skip


def refused(*lines: str, question: str) -> Report:
    lab = Lab()
    for line in lines[:-1]:
        assert lab.do(line)[-1].error is None, line
    assert lab.do(lines[-1])[-1].refusal is not None
    report = lab.do(question)[-1].value
    assert isinstance(report, Report)
    return report


@pytest.mark.parametrize("question", ["why", "why EBUSY"])
@pytest.mark.parametrize(("call", "facts"), _CALLS)
def test_in_use_names_the_users_and_the_fix_destroys_them(
    call: str, facts: list[str], question: str
) -> None:
    report = refused(*_SETUP, call, question=question)
    assert report.slug == "in-use"
    for fact in facts:
        assert fact in report.text
    assert report.remedy is not None
    assert report.remedy.works
    assert report.remedy.cure.lines[-1] == call


def test_the_thread_that_made_the_user_is_named() -> None:
    made = "program A.t2 lines={create_qp A.q9 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0}"
    lines = ("use rc_pair", made, "run", "destroy_qp A.qp0", "destroy_cq A.cq0")
    assert "A.q9, made by A.t2, uses A.cq0" in refused(*lines, question="why").text


def test_the_thread_that_took_an_event_is_named() -> None:
    took = "program B.t2 lines={get_cq_event B.ch0}"
    send = "post_send A.qp0 opcode=SEND flags=SIGNALED"
    lines = ("use rc_pair channel=1", "post_recv B.qp0 sg=B.mr0[0:8]", "req_notify_cq B.cq0", took,
             send, "run", "destroy_qp B.qp0", "destroy_cq B.cq0")  # fmt: skip
    report = refused(*lines, question="why")
    assert report.slug == "unacked-events"
    assert "1 event of B.cq0 taken by B.t2 and not acknowledged" in report.text


def test_a_destruction_that_succeeded_later_is_no_trouble() -> None:
    lab = Lab()
    for line in ("use rc_pair", "destroy_cq A.cq0", "destroy_qp A.qp0", "destroy_cq A.cq0"):
        lab.do(line)
    assert not lab.do("why")[-1].value.is_trouble


@pytest.mark.parametrize(
    ("post", "destroy", "what"),
    [(SEND, "destroy_qp A.qp0", "A.qp0.wr[1]"), (RECV, "destroy_qp B.qp0", "B.qp0.recv_wr[2]")],
)
def test_destroyed_with_work_has_the_event_of_the_destroy(
    post: str, destroy: str, what: str
) -> None:
    lab = played("use rc_pair", post, "run 500ns", destroy)
    report = why(lab, what)
    assert report.slug == "destroyed-with-work"
    assert report.causes[0].finding.evidence[0].event == lab.session.world.event
    lab = played("use rc_pair", RECV, SEND, "run", "poll_cq A.cq0", "poll_cq B.cq0", destroy)
    assert why(lab, what).slug != "destroyed-with-work"


def test_in_use_comes_after_an_earlier_failure() -> None:
    lab = played("use rc_pair", "post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:8]"
                 " remote_addr=0x777000 rkey=0x77 flags=SIGNALED", "run", "poll_cq A.cq0",
                 "dealloc_pd A.pd0", "alloc_pd A.pd1")  # fmt: skip
    assert chain(lab) == ["rem-access", "in-use"]


def test_a_channel_that_an_unacknowledged_event_keeps_in_use_stands_after_the_event() -> None:
    lab = played("use rc_pair channel=1", "create_cq B.cq1 cqe=8 channel=B.ch0",
                 "create_qp B.qp1 pd=B.pd0 qp_type=RC send_cq=B.cq1 recv_cq=B.cq1 max_send_wr=4"
                 " max_recv_wr=4",
                 "create_qp A.qp1 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0 max_send_wr=4"
                 " max_recv_wr=4", "connect A.qp1 B.qp1", "req_notify_cq B.cq0",
                 "req_notify_cq B.cq1",
                 "post_send B.qp1 wr_id=1 opcode=RDMA_WRITE sg=B.mr0[0:8] remote=A.mr0[0]"
                 " flags=SIGNALED", "run", "get_cq_event B.ch0", "ack_cq_events B.cq0")  # fmt: skip
    destroy_all(lab.session)
    report = why(lab)
    assert chain(lab) == ["unacked-events", "unacked-events", "in-use"]  # the wrong call, the event
    assert "B.cq1" in report.text
