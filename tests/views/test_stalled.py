"""Sends that nothing moves on, and the send that failed last."""

import pytest

from rdmalab.lab import Lab
from rdmalab.spec.states import QPState
from rdmalab.spec.statuses import WCStatus
from rdmalab.views.stalled import failure_row, stalled_rows

SEND = "post_send A.qp0 wr_id=4 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED"
RECV = "post_recv B.qp0 sg=B.mr0[0:64]"
DROP = "fault drop A->B nth=1"
BAD = "post_send A.qp0 wr_id=7 opcode=RDMA_WRITE sg=A.mr0[0:5] remote_addr=0x1064 rkey=0xdead"


def lab(*lines: str, pair: str = "use rc_pair") -> Lab:
    made = Lab()
    for line in (pair, *lines):
        assert not made.do(line)[-1].failed, line
    return made


def stalled(made: Lab) -> list[str]:
    return [row.text for row in stalled_rows(made.session.world, made.session.names)]


@pytest.mark.parametrize(
    ("lines", "texts"),
    [
        ((RECV, DROP, SEND, "run"), ["A.qp0.wr[4] waits, nothing is planned"]),
        ((RECV, SEND, "run"), []),
        ((RECV, SEND), []),  # the port will send
        ((RECV,), []),  # a receive may wait as long as it likes
        (("modify_qp A.qp0 state=SQD", SEND), ["A.qp0.wr[4] waits in SQD"]),
        (("modify_qp A.qp0 state=SQD", SEND, "modify_qp A.qp0 state=RTS"), []),
    ],
)
def test_a_send_stalls_where_nothing_is_planned(lines: tuple[str, ...], texts: list[str]) -> None:
    assert stalled(lab(*lines, pair="use rc_pair timeout=0")) == texts


def test_a_row_has_the_oldest_send_and_how_many_there_are() -> None:
    two = (DROP, "fault drop A->B nth=2", SEND, SEND.replace("=4", "=5"))
    made = lab(*two, "run", pair="use rc_pair timeout=0")
    (row,) = stalled_rows(made.session.world, made.session.names)
    assert (row.qp, row.wr_id, row.sends, row.state) == ("A.qp0", 4, 2, None)


def test_a_read_that_may_never_begin_stalls() -> None:
    read = "post_send A.qp0 wr_id=9 opcode=RDMA_READ sg=A.mr0[0:5] remote=B.mr0[0]"
    made = lab(read, "run", pair="use rc_pair max_rd_atomic=0")
    assert stalled(made) == ["A.qp0.wr[9] waits, nothing is planned"]


def failure(made: Lab, name: str = "A.qp0") -> tuple[int, WCStatus] | None:
    thing = made.session.names.find(name)
    assert thing is not None
    row = failure_row(made.session.world, made.session.names, thing)
    return (row.wr_id, row.status) if row is not None else None


def test_the_failure_is_the_one_that_is_no_flush_polled_or_not() -> None:
    made = lab(BAD, SEND, "run")
    assert failure(made) == (7, WCStatus.REM_ACCESS_ERR)
    made.do("poll_cq A.cq0 num_entries=4")
    assert failure(made) == (7, WCStatus.REM_ACCESS_ERR)
    assert failure(made, "B.qp0") is None


def test_a_reset_ends_it() -> None:
    made = lab(BAD, "run", "modify_qp A.qp0 state=RESET")
    assert made.session.world.nodes["A"].qps.items[17].state is QPState.RESET
    assert failure(made) is None


def test_what_only_was_flushed_is_no_failure() -> None:
    assert failure(lab("modify_qp A.qp0 state=ERR", SEND, "run")) is None
