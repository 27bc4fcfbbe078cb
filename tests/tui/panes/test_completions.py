"""The table of completions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdmalab.tui.panes.completions import CompletionsPane, table
from tests.tui.panes.cards import BAD_RKEY, alone, at
from tests.tui.playing import first

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdmalab.tui.world_view import WorldView


def completions(view: WorldView) -> Iterator[CompletionsPane]:
    yield CompletionsPane(view, id="cq")


def rows(view: WorldView) -> list[tuple[str, str]]:
    return [(work, " ".join(filter(None, (cell.plain for cell in cells))))
            for work, cells in table(view.view_of("show cq").rows)]  # fmt: skip


def test_the_newest_is_first_and_queues_with_completions_come_before_empty_ones() -> None:
    _, view = first("use rc_pair", *BAD_RKEY, "poll_cq B.cq0 num_entries=1")
    assert rows(view) == [
        ("A.qp0.wr[8]", "A.cq0  3 of 16 wr8 ✗ WR_FLUSH_ERR A.qp0 4.427 us vendor_err=0x85"),
        ("A.qp0.wr[7]", "wr7 ✗ REM_ACCESS_ERR A.qp0 4.427 us vendor_err=0x8a"),
        ("A.qp0.wr[1]", "wr1 ✓ SUCCESS SEND A.qp0 2.215 us poll_cq returns this one next"),
        ("B.cq0", "B.cq0  0 of 16 wr1 RECV SUCCESS 64 B, polled"),
        ("A.cq1", "A.cq1  0 of 16 empty"),
        ("B.cq1", "B.cq1  0 of 16 empty"),
    ]


def test_immediate_data_is_in_the_row() -> None:
    assert any("imm=htonl(0x" in text for _, text in rows(at("xrc")))


async def test_columns_go_where_there_is_no_room_and_a_row_asks_why() -> None:
    async with alone(lambda: completions(at("wrong rkey")), (120, 12)) as seen:
        pane = seen.app.query_one(CompletionsPane)
        assert "vendor_err=0x8a" in seen.text
        assert pane.twin == "show cq"
        pane.focus()
        await seen.pilot.press("down", "enter")
        assert seen.app.asked == [("ask", "A.qp0.wr[7]")]
        assert await seen.click("wr1", 1) == [("ask", "B.qp0.recv_wr[1]")]
        await seen.pilot.resize_terminal(44, 12)
        await seen.read_rows()
        assert "✗ REM_ACCESS_ERR" in seen.text
        assert "vendor_err" not in seen.text
        assert "4.427" not in seen.text


async def test_the_cursor_stays_when_a_completion_comes() -> None:
    lab, view = first()
    async with alone(lambda: completions(view), (100, 12)) as seen:
        pane = seen.app.query_one(CompletionsPane)
        pane.move_cursor(row=1)
        for line in BAD_RKEY:
            lab.do(line)
        await seen.read_rows()
        assert (pane.row_count, pane.cursor_row) == (4, 1)
        await seen.read_rows()
        assert pane.row_count == 4


async def test_without_a_queue_the_table_is_empty() -> None:
    lab, view = first()
    for node in ("A", "B"):
        lab.do(f"destroy_qp {node}.qp0")
        lab.do(f"destroy_cq {node}.cq0")
    async with alone(lambda: completions(view), (80, 6)) as seen:
        assert seen.app.query_one(CompletionsPane).row_count == 0
