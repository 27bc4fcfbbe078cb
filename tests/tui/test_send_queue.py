"""The send queue of a card: words for progress, and what stays where room is short."""

import pytest

from rdmalab.tui.node_card import sends
from rdmalab.tui.pane import fitted
from rdmalab.views.queues import QpRow
from rdmalab.views.stalled import failure_row, stalled_rows
from rdmalab.views.wqes import WqeRow
from tests.tui.panes.cards import BAD_RKEY, SEND
from tests.tui.playing import first

READ = "post_send A.qp0 wr_id={} opcode=RDMA_READ sg=A.mr0[0:8] remote=B.mr0[0] flags=SIGNALED"
WRITE = "post_send A.qp0 wr_id={} opcode=RDMA_WRITE sg=A.mr0[0:2000] remote=B.mr0[0]"


def queue(*lines: str, width: int = 57, height: int = 20, qp: str = "A.qp0") -> list[str]:
    _, view = first(*lines)
    rows = view.view_of(f"show {qp}").rows
    row = next(each for each in rows if isinstance(each, QpRow))
    stalled = next((each for each in view.ask(stalled_rows) if each.qp == qp), None)
    thing = view.session.names.find(qp)
    failure = view.ask(failure_row, thing)
    work = [each for each in rows if isinstance(each, WqeRow)]
    ranked = sends(row, work, stalled, failure, width)
    return [line.plain.rstrip() for line in fitted(ranked, height)]


@pytest.mark.parametrize(
    ("lines", "last"),
    [
        ((SEND,), " ◷ wr2 SEND 4 B posted  psn 1"),
        ((SEND, "step 1"), " ▶ wr2 SEND 4 B under way  psn 1  ack timer 67.11 ms"),
        ((SEND, "until A.qp0.rnr_timer.armed"), " ◷ wr2 SEND 4 B RNR wait 640 us  psn 1"),
        ((READ.format(2), "run"), " ✓ wr2 READ 8 B acked  psn 1"),
        ((*map(READ.format, (2, 3)), "step 1"), " ◷ wr3 READ 8 B waits for max_rd_atomic  psn 2"),
        (("modify_qp A.qp0 state=SQD", SEND), " ◷ wr2 SEND 4 B waits in SQD  psn 1"),
        ((WRITE.format(2), "run"), " ✓ wr2 WRITE 2000 B acked unsignaled  psn 1..4"),
        (BAD_RKEY, " ✗ wr8 WRITE 8 B WR_FLUSH_ERR  psn 2"),
        # It was posted in ERR and never sent: it has no PSN.
        (("modify_qp A.qp0 state=ERR", SEND, "run"), " ✗ wr2 SEND 4 B WR_FLUSH_ERR"),
    ],
)  # fmt: skip
def test_the_word_for_each_progress(lines: tuple[str, ...], last: str) -> None:
    assert queue(*lines)[-1] == last


def test_a_failed_request_is_never_counted_as_done() -> None:
    assert queue(*BAD_RKEY)[0] == "send      3 of 8    ✓ 1 acked  ✗ 2 failed        ✓✗✗□□□□□"
    assert queue(*BAD_RKEY, width=37)[0] == "SQ 3 of 8  ✓ 1 acked  ✗ 2 failed"


def test_of_the_failed_the_cause_stays_and_not_the_flush() -> None:
    shown = queue(*BAD_RKEY, width=37, height=2)
    assert shown[1] == " ✗ wr7 WRITE 5 B REM_ACCESS_ERR"


def test_size_and_opcode_go_before_the_status() -> None:
    assert queue(*BAD_RKEY, width=30, height=2)[1] == " ✗ wr7 WRITE REM_ACCESS_ERR"
    assert queue(*BAD_RKEY, width=26, height=2)[1] == " ✗ wr7 REM_ACCESS_ERR"


def test_done_goes_first_from_the_counts() -> None:
    lines = (WRITE.format(3), "run", SEND, "step 1", READ.format(4), "modify_qp A.qp0 state=SQD")
    assert queue(*lines, width=37)[0].startswith("SQ 4 of 8  ▶ 1 under way")
    assert "✓ 2 acked  ▶ 1 under way  ◷ 1 waiting" in queue(*lines, width=70)[0]


def test_a_long_queue_is_drawn_by_its_worst_slots() -> None:
    made = "create_qp A.qp1 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0 max_send_wr=64"
    peer = made.replace("A.", "B.")
    posts = [WRITE.format(n).replace("qp0", "qp1") for n in range(20)]
    shown = queue(made, peer, "connect A.qp1 B.qp1", *posts, "run", qp="A.qp1")
    assert shown[0] == "send      20 of 64  ✓ 20 acked            ✓✓✓□□□□□ 8 each"
    short = queue(made, peer, "connect A.qp1 B.qp1", *posts[:3], "run", qp="A.qp1")
    assert short[0].endswith(" ✓✓✓□□□□□…")  # a cell is a slot where all in use have one
    assert len(shown) == 9
