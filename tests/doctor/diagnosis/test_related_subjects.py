"""From the flush to the failure, and from here to the peer."""

from rdmalab.doctor.asking.subjects import subjects
from rdmalab.doctor.case import Case
from rdmalab.doctor.diagnosis.related_subjects import sources_of
from rdmalab.doctor.evidence.log import Log
from rdmalab.grammar.expressions import parse_expression
from rdmalab.lab import Lab
from tests.doctor.asking import played, why
from tests.labs import RECV, SEND, lab_of

_BAD = "post_send A.qp0 wr_id=3 opcode=RDMA_WRITE sg=A.mr0[0:64] rkey=1 flags=SIGNALED"


def leads(lab: Lab, asked: str) -> list[tuple[str, str, int]]:
    log = Log(lab.session)
    (subject, *_) = subjects(lab.session, log, parse_expression(asked, "A").node)
    found = sources_of(Case(lab.session, subject, log, asked=True))
    return [(s.sort.value, lab.session.names.of(s.thing), s.wr_id) for s in found]


def test_related_of_a_flush_is_the_failed_request() -> None:
    lab = lab_of(_BAD, SEND, "run")
    assert ("send", "A.qp0", 3) in leads(lab, "A.qp0.wr[1]")


def test_related_of_a_flushed_receive_is_the_failed_send_of_the_peer() -> None:
    lab = lab_of(RECV, _BAD, "run")
    assert ("send", "A.qp0", 3) in leads(lab, "B.qp0.recv_wr[2]")


def test_related_of_a_waiting_send_is_the_earlier_one() -> None:
    lab = lab_of(SEND, SEND.replace("=1 ", "=5 "), "run 2ms", pair="use rc_pair")
    assert ("send", "A.qp0", 1) in leads(lab, "A.qp0.wr[5]") or leads(lab, "A.qp0.wr[5]") == []


def test_related_is_empty_after_success() -> None:
    assert leads(lab_of(RECV, SEND, "run"), "A.qp0.wr[1]") == []


def test_a_receive_that_waits_leads_to_the_sends_of_the_peer() -> None:
    lab = lab_of("fault drop A->B", RECV, SEND, "run 1us")
    assert ("send", "A.qp0", 1) in leads(lab, "B.qp0.recv_wr[2]")


def test_related_of_a_failed_program_is_its_call() -> None:
    lab = lab_of("program A.p lines={destroy_cq A.cq0}", "run")
    assert [sort for sort, _, _ in leads(lab, "A.p")] == ["call"]


def test_related_of_a_program_in_get_cq_event() -> None:
    lab = lab_of("program B.rx lines={get_cq_event B.ch0}", RECV, "run",
                 pair="use rc_pair channel=1")  # fmt: skip
    found = leads(lab, "B.rx")
    assert ("completion queue", "B.cq0", 0) in found
    assert ("receive", "B.qp0", 2) in found


def test_a_responder_in_err_names_the_one_reason() -> None:
    write = "post_send A.qp0 wr_id=7 opcode=RDMA_WRITE sg=A.mr0[0:64] flags=SIGNALED"
    for target in ("remote=B.mr0[4090]", "remote=B.mr0[0] rkey=1", "remote_addr=0x10 rkey=1"):
        lab = played("use rc_pair", f"{write} {target}", "run")
        assert why(lab, "B.qp0").slug == why(lab, "A.qp0.wr[7]").slug == "rem-access", target


def test_a_finished_thread_whose_send_failed_unpolled_has_failed() -> None:
    bad = "post_send A.qp0 wr_id=2 opcode=RDMA_WRITE sg=A.mr0[0:16] remote_addr=1 rkey=0x9"
    lab = played("use rc_pair", f"program A.t lines={{{bad}; sleep 20us}}", "run")
    report = why(lab, "A.t")
    assert (report.is_trouble, report.slug, report.name) == (True, "rem-access", "A.t")


def test_a_finished_thread_whose_sends_a_full_cq_flushed_has_failed() -> None:
    write = "post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0[0] flags=SIGNALED"
    ends = {
        "sleep 100us": (True, "cq-overrun"),  # the work of another thread, and its own
        "modify_qp A.qp0 state=ERR": (False, "well"),
    }
    for last, told in ends.items():
        cq = "use rc_pair cqe=2" if last.startswith("sleep") else "use rc_pair cqe=64"
        lab = played(cq, f"program A.bulk lines={{loop 8; {write}; end; {last}}}", "run 10ms")
        assert (why(lab, "A.bulk").is_trouble, why(lab, "A.bulk").slug) == told
    lab = played("use rc_pair cqe=2", f"program A.bulk lines={{loop 8; {write}; end}}", "run 10ms",
                 "apply A.bulk", "run 10ms")  # fmt: skip
    assert not why(lab, "A.bulk").is_trouble
