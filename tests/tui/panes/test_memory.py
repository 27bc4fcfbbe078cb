"""The memory pane."""

from rdmalab.tui.panes.memory import MemoryPane
from tests.tui.playing import first

WRITE = "post_send A.qp0 wr_id=2 opcode=RDMA_WRITE sg=A.mr0[0:5] remote=B.mr0[{}] flags=SIGNALED"


def memory(*lines: str) -> MemoryPane:
    _, panes = first(*lines)
    pane = panes["memory"]
    assert isinstance(pane, MemoryPane)
    return pane


def test_what_the_last_event_wrote_is_in_brackets() -> None:
    pane = memory(WRITE.format(37), "step 2")
    assert "+020 00 00 00 00 00[68 65 6c 6c 6f]00" in pane.text()
    assert "! [0:5] HCA until A.qp0 wr2 completes: do not modify" in pane.text()


def test_it_goes_to_where_the_last_event_was() -> None:
    assert memory(WRITE.format(2048), "step 2").sentences()[1].startswith("show B.mr0[2048:")


def test_one_can_look_elsewhere_and_come_back() -> None:
    pane = memory()
    pane.move(2)
    assert pane.sentences()[0].startswith("show A.mr0[32:")
    pane.end(1)
    assert pane.sentences()[0] == "show A.mr0[4080:4096]"
    assert pane.escape()
    assert not pane.escape()
    assert pane.sentences()[0].startswith("show A.mr0[0:")
