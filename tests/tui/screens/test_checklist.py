"""The checklist as a page: what failed is seen first and leads on."""

import pytest

from rdmalab.tui.panes.why import WhyPane
from rdmalab.tui.screens.checklist import Checklist
from tests.tui.pane_host import Hosted, hosted
from tests.tui.panes.test_why import BAD


async def opened(it: Hosted) -> None:
    walk = it.model.lab.do("checklist no-completion A.qp0.wr[7]")[0].value
    it.pilot.app.push_screen(Checklist(walk))
    await it.pilot.pause()
    await it.pilot.pause()


@pytest.mark.parametrize("size", [(80, 24), (60, 16), (200, 60)])
async def test_what_failed_is_on_the_first_screen(size: tuple[int, int]) -> None:
    async with hosted(lambda view: WhyPane(view, id="why"), BAD, "run", size=size) as it:
        await opened(it)
        rows = it.text.splitlines()
        assert rows[0].startswith("checklist no-completion of A.qp0.wr[7]")
        assert any("FAIL rem-access" in row for row in rows[:4])
        assert "Esc Back" in it.text.replace("esc", "Esc")


async def test_rows_open_their_check_and_their_event_and_esc_goes_back() -> None:
    async with hosted(lambda view: WhyPane(view, id="why"), BAD, "run") as it:
        await opened(it)
        await it.pilot.press("enter", "down", "enter", "1")
        assert it.asked == ["explain cause rem-access", "event 23", "explain cause rem-access"]
        await it.pilot.press("escape")
        assert not isinstance(it.pilot.app.screen, Checklist)
