"""A fix that works leaves nothing to ask; it is tried as far as the polls of threads can see."""

import pytest

from rdmalab.doctor.evidence.outcome import Status
from rdmalab.doctor.report.brief import Budget, brief
from rdmalab.lab import Lab
from rdmalab.views import fmt
from tests.doctor.asking import played, warning, why

_READ = "post_send A.qp0 wr_id=5 opcode=RDMA_READ sg=A.mr0[0:64] remote=B.mr0[0]"
_WRITE = (
    "post_send {}.qp{} wr_id=4 opcode=RDMA_WRITE sg={}.mr0[0:8] remote={}.mr0[0] flags=SIGNALED"
)
_SEND = "post_send A.qp0 wr_id={} opcode=SEND sg=A.mr0[0:16] flags=SIGNALED"
_POLLS = "program A.tx lines={poll A.cq0}"
_WRITES = _WRITE.format("B", 1, "B", "A")
_HALF_UP = (
    "use rc_pair",
    *(f"create_qp {n}.qp1 pd={n}.pd0 qp_type=RC send_cq={n}.cq0 recv_cq={n}.cq0" for n in "BA"),
    "modify_qp B.qp1 state=INIT pkey_index=0 port_num=1 qp_access_flags=REMOTE_WRITE",
    "modify_qp B.qp1 state=RTR path_mtu=1024 dest_qp_num=A.qp1 rq_psn=0 max_dest_rd_atomic=1"
    " min_rnr_timer=12 ah=A",
    f"program B.rx lines={{wait B.qp1.state == RTS; {_WRITES}; poll B.cq0}}",
    "run 300us",
)
_SENDS = "; poll A.cq0; ".join(_SEND.format(n) for n in (1, 2, 6))
_LIMIT = (
    "use srq_pair rnr_retry=2 min_rnr_timer=1",
    "post_srq_recv B.srq0 wr={wr_id=1 sg=B.mr0[0:64]} wr={wr_id=2 sg=B.mr0[64:128]}",
    "program B.rx lines={loop; poll B.cq0; end}",
    f"program A.tx lines={{{_SENDS}; poll A.cq0}}",
    "run 800us",
)
_LOOPBACK = (
    "use ud_pair", "create_ah A.ah1 pd=A.pd0 to=A", "post_recv B.qp0 wr_id=1 sg=B.mr0[0:104]",
    "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:64] ah=A.ah1 remote_qpn=B.qp0"
    " remote_qkey=0x11111111 flags=SIGNALED", "run",
)  # fmt: skip
_WRONG_QUEUE = (
    "use srq_pair rnr_retry=1 min_rnr_timer=1", "post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]",
    _SEND.format(1), "run",
)  # fmt: skip


def _is_bad(lab: Lab, *asked: str) -> list[bool]:
    return [why(lab, each).is_trouble for each in ("", *asked)]


@pytest.mark.parametrize("wait", ["run", "run 1ms"])
def test_an_unsignaled_request_has_no_completion_after_the_fix(wait: str) -> None:
    lab = played("use rc_pair", "fault drop A->B", _READ, wait)
    remedy = why(lab, "A.qp0.wr[5]").remedy
    assert remedy is not None
    assert not remedy.works
    assert "not signaled" in remedy.ends
    assert "unsignaled" in warning(lab, "A.qp0.wr[5]")
    assert "unsignaled" not in why(lab, "A.qp0.wr[5]").ruled_out


def test_a_signaled_request_keeps_its_fix() -> None:
    lab = played("use rc_pair", "fault drop A->B", f"{_READ} flags=SIGNALED", "run", "apply", "run")
    assert why(lab, "A.qp0.wr[5]").outcome.kind is Status.COMPLETED


def test_a_fix_ends_only_the_wait_where_the_next_request_fails() -> None:
    lab = played(*_HALF_UP)
    remedy = why(lab, "B.rx").remedy
    assert remedy is not None
    assert not remedy.works
    assert remedy.ends == "B.qp1.wr[4] then ends with RETRY_EXC_ERR"
    lab.do("apply B.rx")
    lab.do("run 3ms")
    report = why(lab)
    assert "ends with RETRY_EXC_ERR" in report.outcome.sentence
    assert "none will come" not in report.outcome.sentence
    assert _is_bad(lab, "B.qp1.wr[4]") == [True, True]


def test_a_thread_that_polls_hides_no_retry() -> None:
    lost = (
        "use rc_pair timeout=8 retry_cnt=2",
        "fault drop A->B",
        _WRITE.format("A", 0, "A", "B"),
        "run 1ms",
    )
    alone, polled = played(*lost), played(*lost[:-1], _POLLS, lost[-1])
    for lab in (alone, polled):
        report = why(lab)
        assert "call it ends with RETRY_EXC_ERR at 3.1" in report.outcome.sentence
        assert report.remedy is not None
        assert report.remedy.works
        assert _is_bad(lab, "A.qp0.wr[4]") == [True, True]
    said = why(polled).outcome.sentence
    polled.do("until A.qp0.state == ERR")
    assert fmt.clock(polled.session.world.now_ns) in said


def test_a_thread_that_polls_makes_no_trouble_of_one_lost_packet() -> None:
    lab = played("use rc_pair", "fault drop A->B count=1", _WRITE.format("A", 0, "A", "B"), _POLLS,
                 "run 1ms")  # fmt: skip
    assert _is_bad(lab, "A.qp0.wr[4]") == [False, False]


def test_a_profile_that_waits_longer_gives_one_verdict() -> None:
    lab = played(*_LIMIT, profile="rxe")
    assert _is_bad(lab, "A.qp0.wr[6]") == [True, True]


@pytest.mark.parametrize("lines", [_LIMIT, _LOOPBACK, _WRONG_QUEUE])
def test_after_a_fix_that_works_nothing_is_blamed(lines: tuple[str, ...]) -> None:
    lab = played(*lines)
    report = why(lab)
    assert report.is_trouble
    assert report.remedy is not None
    assert report.remedy.works
    lab.do("apply")
    lab.do("run 3ms")
    assert why(lab).outcome.kind is Status.WELL


def test_the_short_answer_keeps_the_range_in_a_name() -> None:
    write = 'write B.mr0[0:1] "\\x0{}"; post_send B.qp0 wr_id={} opcode=RDMA_WRITE'
    write += " sg=B.mr0[0:1] remote=A.mr0[0] flags=SIGNALED; poll B.cq0"
    lab = played("use rc_pair", "program A.tx lines={wait A.mr0[0] == 2}",
                 f"program B.rx lines={{sleep 2us; {write.format(1, 1)}; {write.format(3, 2)}}}",
                 "run 300us")  # fmt: skip
    rows = [row.line for row in brief(why(lab), Budget())]
    assert any("overwritten-unread of A.mr0[0:1]: B.qp0.wr[2] wrote" in row for row in rows)


def test_a_lost_packet_without_retries_names_the_attribute() -> None:
    lab = played("use rc_pair timeout=6 retry_cnt=0", "fault drop A->B count=1",
                 _WRITE.format("A", 0, "A", "B"), "run")  # fmt: skip
    report = why(lab)
    assert report.slug == "loss"
    facts = report.causes[0].finding.evidence
    assert any("A.qp0 was given retry_cnt=0" in each.text for each in facts)
    assert report.remedy is not None
    assert report.remedy.works
    lab.do("apply")
    lab.do("run")
    assert lab.look("A.qp0.retry_cnt == 6") is True
    assert why(lab).outcome.kind is Status.WELL


def test_a_lost_packet_without_retries_names_the_attribute_before_the_timeout_too() -> None:
    lost = ("use rc_pair timeout=14 retry_cnt=0", "fault drop A->B count=1")
    for more, slug in ((lost, "loss"), ((lost[0], "link down"), "port-not-active")):
        lab = played(*more, _WRITE.format("A", 0, "A", "B"), "run 1ms")
        report = why(lab)
        assert report.slug == slug
        assert "A.qp0 was given retry_cnt=0" in report.text


def test_a_datagram_that_a_neighbour_took_is_named() -> None:
    lab = played(
        "use ud_pair", "create_qp B.qp1 pd=B.pd0 qp_type=UD send_cq=B.cq0 recv_cq=B.cq0",
        "modify_qp B.qp1 state=INIT pkey_index=0 port_num=1 qkey=0x11111111",
        "modify_qp B.qp1 state=RTR", "post_recv B.qp0 wr_id=1 sg=B.mr0[0:128]",
        "post_recv B.qp1 wr_id=2 sg=B.mr0[128:256]",
        "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:16] ah=A.ah0 remote_qpn=B.qp1"
        " remote_qkey=0x11111111 flags=SIGNALED", "run",
    )  # fmt: skip
    report = why(lab, "B.qp0.recv_wr[1]")
    assert "A.qp0.wr[1] was posted to B.qp1" in report.text
    assert not report.is_trouble
    assert "no-remote-send" not in why(lab).text
