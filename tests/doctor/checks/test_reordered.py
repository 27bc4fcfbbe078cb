"""Messages of an unreliable connection whose packets arrive in another order."""

from tests.doctor.asking import played, why
from tests.doctor.tidying import destroy_all

_SEND = "post_send A.qp0 wr_id=5 opcode=SEND sg=A.mr0[0:1024] flags=SIGNALED"
_LINES = (
    "use uc_pair path_mtu=256", "post_recv B.qp0 wr_id=6 sg=B.mr0[0:2048]",
    "fault reorder A->B nth=2 count=1", _SEND, "run", "poll_cq A.cq0",
)  # fmt: skip


def test_uc_loss_of_reordered_packets() -> None:
    lab = played(*_LINES)
    for question in ("", "A.qp0.wr[5]", "B.qp0.recv_wr[6]"):
        report = why(lab, question)
        assert (report.slug, report.is_trouble) == ("uc-loss", True), question
        assert "packet psn=1 came after psn=2" in report.text
        assert "B.qp0 dropped the 3 packets after the gap" in report.text
    destroy_all(lab.session)
    for question in ("", "B.qp0.recv_wr[6]"):
        assert (why(lab, question).slug, why(lab, question).is_trouble) == ("uc-loss", True)


def test_fix_of_uc_loss_removes_fault_reorder() -> None:
    lab = played(*(line.replace(" count=1", "") for line in _LINES))
    for line in ("apply", "run"):
        lab.do(line)
    assert lab.look("B.cq0.total(wr_id=6, status=SUCCESS)") == 1


def test_uc_loss_not_after_the_message_was_sent_again() -> None:
    lab = played(*_LINES)
    for line in ("apply", "run"):
        lab.do(line)
    assert lab.look("B.cq0.total(wr_id=6, status=SUCCESS)") == 1
    report = why(lab)
    assert (report.slug, report.is_trouble) == ("well", False)
    lab = played(*_LINES, "fault drop A->B count=1", _SEND, "run")
    assert (why(lab).slug, why(lab).is_trouble) == ("uc-loss", True)


def test_uc_loss_with_a_later_message_of_the_same_wr_id() -> None:
    sends = "loop 2; post_send A.qp0 wr_id=5 opcode=SEND sg=A.mr0[0:8] flags=SIGNALED; poll A.cq0"
    recv = "post_recv B.qp0 wr={wr_id=1 sg=B.mr0[0:8]} wr={wr_id=2 sg=B.mr0[8:16]}"
    fault = "fault drop A->B count=1"
    lab = played("use uc_pair", recv, fault, f"program A.tx lines={{{sends}; end}}", "run")
    assert (why(lab).slug, why(lab).is_trouble) == ("uc-loss", True)
