"""Answers about what happened before the log begins, while a thread polled on."""

import pytest

from rdmalab.doctor.evidence.outcome import Status
from rdmalab.lab import Lab
from tests.doctor.asking import why
from tests.labs import SEND, lab_of, well

_RECV = "post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]"
_LONG = "run 4ms"


def polled(program: str, *lines: str) -> Lab:
    """A session that went on for so long that the log no longer has its beginning."""
    lab = lab_of(f"program B.rx lines={{{program}}}", *lines)
    assert lab.session.world.trace.first > 0 or lab.session.world.event > 30_000
    return lab


def test_a_completion_that_the_log_no_longer_has_is_known() -> None:
    lab = polled("loop; poll B.cq0; end", _RECV, SEND, _LONG)
    assert why(lab, "A.qp0.wr[1]").outcome.kind is Status.COMPLETED
    report = why(lab)
    assert not report.is_trouble
    assert "nothing was posted" not in str(report)


def test_a_failure_that_the_log_no_longer_has_is_known() -> None:
    wrong = SEND.replace("opcode=SEND", "opcode=RDMA_WRITE remote_addr=B.mr0[0] rkey=0x77")
    lab = polled("loop; poll B.cq0; end", wrong, _LONG)
    assert why(lab, "A.qp0.wr[1]").slug == "rem-access"


@pytest.mark.parametrize("question", ["", "B.rx"])
def test_a_thread_that_is_done_after_a_long_wait_is_well(question: str) -> None:
    lab = polled("poll B.cq0", _LONG)
    for line in (_RECV, SEND, "run 20us"):
        well(lab, line)
    assert why(lab, question).outcome.kind is Status.WELL
