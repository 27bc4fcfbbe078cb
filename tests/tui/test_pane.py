from textual.content import Content

from rdmalab.tui.pane import fitted
from tests.tui.stand import stand


def test_where_room_is_short_the_lines_of_high_rank_go_and_the_order_stays() -> None:
    lines = [(1, Content("a")), (0, Content("b")), (2, Content("c")), (1, Content("d"))]
    assert [line.plain for line in fitted(lines, 3)] == ["a", "b", "d"]


async def test_a_pane_that_fails_is_reported_once_and_the_session_goes_on() -> None:
    async with stand() as it:

        def fails() -> None:
            raise RuntimeError("of a pane")

        it.app.main.query_one("#node-0").read_rows = fails  # type: ignore[attr-defined]
        await it.say("alloc_pd A.p1", "alloc_pd A.p2")
        await it.until(lambda: "of a pane" in it.said)
        assert it.said.count("of a pane") == 1
        await it.say("show pd")
        await it.sees("A.p2")
