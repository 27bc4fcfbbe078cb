"""Receives of a shared queue whose queue pair was destroyed, and the messages that were for it."""

from rdmalab.doctor.evidence.outcome import Status
from tests.doctor.asking import answer, played
from tests.each import each

_RECV = "post_srq_recv B.srq0 wr={wr_id=1 sg=B.mr0[0:64]} wr={wr_id=2 sg=B.mr0[64:128]}"
_WORKER = "program B.worker lines={poll B.cq0; poll B.cq0}"
_PARENT = "program B.parent lines={sleep 8us; destroy_qp B.qp0}"
_SEND = "post_send A.qp0 wr_id={} opcode=SEND sg=A.mr0[0:16] {}flags=SIGNALED; poll A.cq0"


def _lines(use: str) -> list[str]:
    """The first message is served; the second comes when its queue pair is destroyed."""
    srqn = "remote_srqn=B.srq0 " if use == "xrc_pair" else ""
    sends = f"{_SEND.format(4, srqn)}; sleep 20us; {_SEND.format(5, srqn)}"
    tx = f"program A.tx lines={{{sends}}}"
    return [f"use {use} timeout=4 retry_cnt=1", _RECV, _WORKER, _PARENT, tx, "run 600us"]


@each("use", ["srq_pair", "xrc_pair"])
@each("question", ["why", "why B.worker", "why B.srq0.recv_wr[2]", "why B.srq0"])
def test_the_destroy_is_the_root_for_all_who_wait_for_the_message(use: str, question: str) -> None:
    report = answer(played(*_lines(use)), question)
    assert (report.slug, report.is_trouble) == ("peer-destroyed", True)
    assert "B.parent destroyed B.qp0" in report.text


def test_the_fix_posts_no_receive_on_a_queue_pair_with_a_shared_queue() -> None:
    lab = played(*_lines("srq_pair"))
    remedy = answer(lab, "why A.qp0.wr[5]").remedy
    assert remedy is not None
    assert remedy.works
    lab = played(*_lines("srq_pair")[:1], *_lines("srq_pair")[3:])
    remedy = answer(lab, "why A.qp0.wr[5]").remedy
    assert remedy is None or not any("post_recv B.qp0" in line for line in remedy.cure.lines)


def test_completed_work_is_never_called_too_early() -> None:
    lab = played(*_lines("srq_pair"), "post_srq_recv B.srq0 wr_id=3 sg=B.mr0[0:64]")
    report = answer(lab, "why B.srq0.recv_wr[1]")
    assert report.outcome.kind is Status.COMPLETED
    assert not report.waits


_AGAIN = (
    "use rc_pair timeout=7 retry_cnt=2", "destroy_qp B.qp0",
    "create_qp B.again pd=B.pd0 qp_type=RC send_cq=B.cq0 recv_cq=B.cq0 max_recv_wr=4",
    "to_rts B.again A.qp0", "post_recv B.again wr_id=3 sg=B.mr0[64:128]",
    "post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[0:16] flags=SIGNALED", "run",
)  # fmt: skip


@each("question", ["why", "why A.qp0.wr[2]", "why B.again"])
def test_the_queue_pair_in_the_place_of_the_destroyed_one_is_connected(question: str) -> None:
    report = answer(played(*_AGAIN), question)
    assert report.slug == "peer-destroyed"
    assert "B.again has A.qp0 as its peer since then" in report.text
    assert report.remedy is not None
    assert report.remedy.works
    assert any(line.startswith("to_rts A.qp0 B.again") for line in report.remedy.cure.lines)


@each("question", ["why", "why B.worker", "why A.qp0.wr[5]", "why B.srq0"])
def test_after_the_shared_queue_is_destroyed_too_the_root_stays(question: str) -> None:
    gone = ("destroy_qp B.qp1", "destroy_srq B.srq0")
    assert answer(played(*_lines("srq_pair"), *gone), question).slug == "peer-destroyed"
