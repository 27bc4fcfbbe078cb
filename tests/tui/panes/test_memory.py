"""Memory: the regions used last, marks, owners, and which bytes are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdmalab.recovery.bug_reports import FOLDER
from rdmalab.recovery.user_paths import state_path
from rdmalab.tui.panes.memory import MemoryPane
from tests.tui.panes.cards import alone, at
from tests.tui.playing import first
from tests.tui.stand import stand

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

    from rdmalab.tui.world_view import WorldView


def memory(view: WorldView) -> Iterator[MemoryPane]:
    yield MemoryPane(view, id="memory")


async def test_both_nodes_side_by_side_with_keys_and_owners() -> None:
    async with alone(lambda: memory(at("dead")), (120, 10)) as seen:
        rows = seen.rows[1:]
        assert "A.mr1  4096 B  at 0x10101000" in rows[0]
        assert "B.mr1  4096 B  at 0x20101000" in rows[0]
        assert "rkey 0x560  lkey 0x4c3  read [0:64] ev 38" in rows[1]
        assert "! [0:64] HCA until A.qp1 wr4 completes: do not modify" in rows[2]
        assert "do not read" in rows[2]
        assert rows[3].count("+000 00 00") == 2
        assert await seen.click("HCA until A.qp1") == [("ask", "A.qp1.wr[4]")]
        assert await seen.click("A.mr1") == [("type_in", "show A.mr1")]


async def test_the_region_used_last_alone_where_there_is_room_for_one() -> None:
    async with alone(lambda: memory(at("wrong rkey")), (60, 8)) as seen:
        assert "A.mr0  4096 B" in seen.rows[1]
        assert "B.mr0" not in seen.text
        assert "owner: the application" in seen.text
        assert seen.app.query_one(MemoryPane).twin == "show A.mr0"


async def test_it_scrolls_to_the_bytes_used_last_and_marks_them() -> None:
    lab, view = first()
    async with alone(lambda: memory(view), (120, 12)) as seen:
        assert "+000 68 65 6c 6c 6f" in seen.rows[4]
        lab.do('write B.mr0[2048:2051] "abc"')
        await seen.read_rows()
        await seen.pilot.pause()
        assert "+800 61 62 63 00" in seen.text
        assert "written [2048:2051] ev 21" in seen.text
        pane = seen.app.query_one(MemoryPane)
        marked = [
            part.text
            for y in range(12)
            for part in pane.render_line(y)
            if part.style is not None and part.style.reverse
        ]
        assert "".join(marked).startswith("616263")


async def test_another_region_is_chosen_by_a_key_and_f_follows_again() -> None:
    _, view = first("use rc_pair")
    async with alone(lambda: memory(view), (120, 8)) as seen:
        pane = seen.app.query_one(MemoryPane)
        pane.focus()
        assert "A.mr0" in seen.rows[1]
        await seen.pilot.press("left")
        assert ("A.mr1" in seen.rows[1], "B.mr0" in seen.rows[1]) == (True, True)
        await seen.pilot.press("right")
        assert ("A.mr1" in seen.rows[1], "B.mr1" in seen.rows[1]) == (True, True)
        await seen.pilot.press("f")
        assert ("A.mr0" in seen.rows[1], "B.mr0" in seen.rows[1]) == (True, True)


async def test_a_large_region_is_scrolled_and_its_end_is_not_passed() -> None:
    lab, view = first()
    lab.do("reg_mr A.big pd=A.pd0 length=1000000 access=LOCAL_WRITE")
    lab.do('write A.big[0:2] "hi"')
    async with alone(lambda: memory(view), (60, 8)) as seen:
        pane = seen.app.query_one(MemoryPane)
        assert pane.virtual_size.height == 1_000_000 // 8 + 3
        pane.scroll_end(animate=False)
        await seen.pilot.pause()
        assert "+f4238" in seen.rows[-1]


async def test_without_a_region_it_says_what_to_type() -> None:
    _, view = first("destroy_qp A.qp0", "destroy_qp B.qp0", "dereg_mr A.mr0", "dereg_mr B.mr0")
    async with alone(lambda: memory(view), (80, 6)) as seen:
        assert "no memory region; type: reg_mr A.mr0 pd=A.pd0 length=4096" in seen.text
        assert seen.app.query_one(MemoryPane).twin == "show mr"


async def test_it_is_drawn_before_it_has_read_another_session(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with stand((120, 40)) as it:
        await it.say("reg_mr B.mr1 pd=B.pd0 length=64 access=LOCAL_WRITE", "write B.mr1[0:1] A")
        await it.pane("memory")
        await it.sees("B.mr1")
        monkeypatch.setattr(MemoryPane, "read_rows", lambda _: None)
        await it.say("new", "use rc_pair")
        it.app.main.query_one(MemoryPane).refresh()
        await it.until(lambda: "B.mr1" not in it.text)
        assert "a bug" not in it.said


async def test_a_pane_that_fails_while_it_is_drawn_ends_no_session(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(_pane: MemoryPane, _y: int) -> None:
        raise IndexError("no such row")

    async with stand((120, 40)) as it:
        monkeypatch.setattr(MemoryPane, "render_line", fail)
        await it.pane("memory")
        await it.until(lambda: "a bug in rdmalab" in it.said)
        await it.say("show pd")
        await it.sees("A.pd0")
        newest = max((state_path() / FOLDER).glob("*.txt"))
        assert "> show pd" not in (text := newest.read_text())
        assert "IndexError: no such row" in text
