"""The memory pane."""

import pytest

from rdmalab.shell.styled_text import text_of
from rdmalab.tui import layout
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
    pane.action_move(2)
    assert pane.sentences()[0].startswith("show A.mr0[32:")
    pane.action_end(1)
    assert pane.sentences()[0] == "show A.mr0[4080:4096]"
    assert pane.escape()
    assert not pane.escape()
    assert pane.sentences()[0].startswith("show A.mr0[0:")


@pytest.mark.parametrize("columns", [78, 90, 120, 160])
@pytest.mark.parametrize("rows", [4, 6, 9, 20])
def test_what_the_last_event_touched_is_on_the_screen(columns: int, rows: int) -> None:
    _, panes = first('write B.mr0[100:105] "hello"')
    pane = panes["memory"]
    pane.place = layout.PanePlace("memory", 0, 0, columns, rows + 2)
    shown = [text_of(line) for line in pane.lines(columns - 2, rows)][:rows]
    assert any("[68" in line for line in shown), shown
