"""The story and the log: the newest rows, their signs, and what they open."""

import pytest

from rdmalab.tui.list_pane import ListPane
from rdmalab.tui.panes.past import LogPane, StoryPane
from rdmalab.tui.world_view import WorldView
from tests.tui.pane_host import hosted
from tests.tui.panes.test_why import BAD, SEND


def story(view: WorldView) -> StoryPane:
    return StoryPane(view, id="story")


def log(view: WorldView) -> LogPane:
    return LogPane(view, id="log")


def row(text: str, words: str) -> str:
    return next(line for line in text.splitlines() if words in line)


async def test_each_event_has_its_time_its_sign_and_its_number() -> None:
    async with hosted(story, BAD, "run") as it:
        assert "! B.qp0 received RDMA_WRITE_ONLY" in row(it.text, "received RDMA_WRITE_ONLY")
        assert "✗" in row(it.text, "NAK_REMOTE_ACCESS psn=1 to A")
        assert "✓" in row(it.text, "B.qp0 received SEND_ONLY")
        assert "2.315" in row(it.text, "sent RDMA_WRITE_ONLY")
        assert row(it.text, "sent RDMA_WRITE_ONLY").endswith("[ev 22]")


async def test_the_log_marks_each_kind_of_record() -> None:
    async with hosted(log, BAD, "run") as it:
        assert "✗" in row(it.text, "went RTS → ERR")
        assert "!" in row(it.text, "refused RDMA_WRITE_ONLY")
        assert "▶" in row(it.text, "sent RDMA_WRITE_ONLY")


@pytest.mark.parametrize("make", [story, log])
async def test_all_rows_of_the_twin_are_there(make: type[StoryPane]) -> None:
    async with hosted(make, BAD, "run", size=(120, 60)) as it:
        pane = it.pane
        assert isinstance(pane, StoryPane)
        rows = it.view.view_of(pane.twin).rows
        assert pane.option_count == len(rows)
        shown = " ".join(" ".join(line.plain for line in pane.drawn).split())
        assert all(" ".join(each.text.split()) in shown for each in rows)


async def test_the_newest_row_is_followed_unless_an_older_one_is_marked() -> None:
    async with hosted(story, BAD, "run", size=(80, 10)) as it:
        assert "[ev 25]" in it.text
        await it.do(SEND)
        assert "[ev 26]" in it.text
        await it.pilot.press("home")
        await it.do(SEND)
        assert "[ev 27]" not in it.text
        await it.pilot.press("end", "enter")
        assert it.asked == ["event 27"]


async def test_a_click_opens_the_event() -> None:
    async with hosted(story, BAD, "run") as it:
        y = next(n for n, line in enumerate(it.text.splitlines()) if "[ev 22]" in line)
        await it.pilot.click(offset=(20, y))
        assert it.asked == ["event 22"]


async def test_only_rows_with_a_text_are_shown() -> None:
    async with hosted(story, BAD, "run") as it:
        await it.pilot.press("f", *"nak", "enter")
        assert "NAK_REMOTE_ACCESS" in it.text
        assert "SEND_ONLY" not in it.text
        await it.pilot.press("f", *"zz", "enter")
        assert "no row contains zz" in it.text
        await it.pilot.press("f", "ctrl+u", "escape")
        assert "no row contains zz" in it.text
        await it.pilot.press("f", "ctrl+u", "enter")
        assert "SEND_ONLY" in it.text


async def test_rows_that_are_new_are_only_added(monkeypatch: pytest.MonkeyPatch) -> None:
    async with hosted(story, BAD, "run", size=(80, 40)) as it:
        await it.pilot.press("end")
        await it.frame()
        monkeypatch.setattr(ListPane, "set_options", lambda *_: pytest.fail("all rows were made"))
        await it.do(SEND)
        assert "[ev 26]" in it.text
