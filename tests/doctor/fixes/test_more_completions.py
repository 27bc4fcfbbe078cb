"""One completion more on a queue, of whatever kind came last."""

import pytest

from rdmalab.doctor.fixes import completion_queues
from rdmalab.lab import Lab
from tests.doctor.asking import case_of
from tests.labs import RECV, SEND, lab_of, well

_DATAGRAM = ("post_recv B.qp0 wr_id=1 sg=B.mr0[0:104]",
             "post_send A.qp0 wr_id=6 opcode=SEND sg=A.mr0[0:4] ah=A.ah0 remote_qpn=B.qp0 "
             "remote_qkey=0x11111111 flags=SIGNALED")  # fmt: skip
_BAD = "post_send A.qp0 wr_id=3 opcode=RDMA_WRITE sg=A.mr0[0:64] rkey=1 flags=SIGNALED"


def one_more(lab: Lab, name: str, *, solicited: bool = False) -> int:
    """How many completions come of it."""
    case = case_of(lab, name)
    assert case.cq is not None
    before = case.cq.total
    for line in completion_queues.one_more(case, case.cq, solicited=solicited):
        well(lab, line)
    lab.run()
    return case.cq.total - before


@pytest.mark.parametrize("name", ["A.cq0", "B.cq0"])
def test_one_more_completion_of_a_connection(name: str) -> None:
    assert one_more(lab_of(RECV, SEND, "run"), name) == 1


@pytest.mark.parametrize("name", ["A.cq0", "B.cq0"])
def test_one_more_completion_of_a_ud_qp(name: str) -> None:
    assert one_more(lab_of(*_DATAGRAM, "run", pair="use ud_pair"), name) == 1


@pytest.mark.parametrize("name", ["A.cq0", "B.cq0"])
def test_one_more_completion_of_a_qp_in_err(name: str) -> None:
    assert one_more(lab_of(RECV, _BAD, "run"), name) == 1


def test_one_more_message_is_solicited() -> None:
    lab = lab_of(RECV, SEND, "run")
    assert one_more(lab, "B.cq0", solicited=True) == 1
    assert lab.look("wire.count(opcode=SEND_ONLY, solicited=1) == 1")


def test_one_more_is_empty_without_an_earlier_message() -> None:
    lab = lab_of()
    case = case_of(lab, "A.cq0")
    assert case.cq is not None
    assert completion_queues.one_more(case, case.cq) == []
