"""Where the time of a send went; a send that was fast is not late."""

import pytest

from rdmalab.doctor.evidence.outcome import Status
from rdmalab.doctor.evidence.time_spent import TimeSpent
from rdmalab.lab import Lab
from tests.doctor.asking import case_of, played, why

_SEND = "post_send A.qp0 wr_id=7 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED"
_RECV = "post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]"
_STARVED = ("use rc_pair min_rnr_timer=0", _SEND, "run 10us", _RECV, "run")
_LOST = ("use rc_pair", _RECV, "fault drop A->B nth=1", _SEND, "run")


def spent(lab: Lab, what: str = "A.qp0.wr[7]") -> TimeSpent:
    send = case_of(lab, what).send
    assert send is not None
    return TimeSpent(send)


@pytest.mark.parametrize(
    ("lines", "text", "slug"),
    [
        (_STARVED, "655.4 ms in 1 RNR wait: the peer had no receive", "rnr-slow"),
        (_LOST, "67.11 ms in 1 timeout: a packet or its answer was lost", "loss"),
    ],
)
def test_time_spent_of_a_late_send(lines: tuple[str, ...], text: str, slug: str) -> None:
    lab = played(*lines)
    assert [wait.text for wait in spent(lab).waits] == [text]
    report = why(lab, "A.qp0.wr[7]")
    assert (report.outcome.kind, report.slug) == (Status.LATE, slug)
    assert not report.is_trouble
    assert text in report.text


def test_time_spent_on_the_send_queue_after_another_request() -> None:
    second = _SEND.replace("wr_id=7", "wr_id=8")
    fence = second.replace("SIGNALED", "SIGNALED|FENCE")
    read = "post_send A.qp0 wr_id=7 opcode=RDMA_READ sg=A.mr0[0:8] remote=B.mr0[0] flags=SIGNALED"
    lab = played("use rc_pair", _RECV, "fault drop A->B nth=1", read, fence, "run")
    (wait, *_) = spent(lab, "A.qp0.wr[8]").waits
    assert wait.text.endswith("on the send queue after wr7")
    assert wait.ns > 60_000_000


def test_a_fast_send_is_not_late() -> None:
    lab = played("use rc_pair", _RECV, _SEND, "run")
    assert not spent(lab).is_late
    assert why(lab, "A.qp0.wr[7]").outcome.kind is Status.COMPLETED
