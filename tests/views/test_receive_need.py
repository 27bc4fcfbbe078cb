"""Which queue pairs need a receive, and why."""

import pytest

from rdmalab.lab import Lab
from rdmalab.views.receive_need import NeedRow, need_row

RECV = "post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]"
SEND = "post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[0:8] flags=SIGNALED"
WRITE = "post_send A.qp0 wr_id=3 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0[0] flags=SIGNALED"
WAIT = "until A.qp0.rnr_timer.armed"
DUE = "wr2 SEND 8 B of A.qp0"


def need(*lines: str, kind: str = "rc_pair", qp: str = "B.qp0") -> NeedRow | None:
    lab = Lab()
    for line in (f"use {kind}", *lines):
        assert not lab.do(line)[-1].failed, line
    thing = lab.session.names.find(qp)
    assert thing is not None
    return need_row(lab.session.world, lab.session.names, thing)


@pytest.mark.parametrize(
    "lines",
    [
        (),  # connected, and nothing was sent
        (RECV,),
        (RECV, SEND),
        (RECV, SEND, "until A.cq0.count == 1 or B.cq0.count == 1"),  # its ACK is under way
        (RECV, SEND, "run"),  # the message took it; the queue is empty again
        (WRITE,),
        (WRITE, "run"),
        (SEND, WAIT, RECV),
        (SEND, WAIT, RECV, "run"),
        (SEND, WAIT, "modify_qp B.qp0 state=ERR"),
        (SEND, WAIT, "modify_qp B.qp0 state=RESET"),
    ],
)
def test_nothing_is_needed(lines: tuple[str, ...]) -> None:
    assert need(*lines) is None


def test_a_message_that_is_posted_will_need_one() -> None:
    row = need(SEND)
    assert row is not None
    assert (row.qp, row.missed, row.due) == ("B.qp0", None, DUE)
    assert row.text == f"B.qp0 no receive is posted: {DUE} will need one"


def test_a_message_has_found_none() -> None:
    row = need(SEND, WAIT)
    assert row is not None
    assert row.missed is not None
    assert row.due == DUE
    assert row.text == f"B.qp0 no receive is posted: a message found none ev {row.missed}"


def test_the_second_message_finds_none_after_the_first_took_the_receive() -> None:
    row = need(RECV, SEND, "run", SEND, WAIT)
    assert row is not None
    assert row.missed is not None


def test_a_datagram_that_was_dropped_has_found_none() -> None:
    posted = SEND + " ah=A.ah0 remote_qpn=B.qp0 remote_qkey=0x11111111"
    assert need(kind="ud_pair") is None
    row = need(posted, "run", kind="ud_pair")
    assert row is not None
    assert row.missed is not None
    assert row.due == ""


def test_a_message_that_is_over_is_no_need_of_the_next_reset_queue_pair() -> None:
    back = ("modify_qp A.qp0 state=RESET", "modify_qp B.qp0 state=RESET", "connect A.qp0 B.qp0")
    assert need(SEND, WAIT, *back) is None
