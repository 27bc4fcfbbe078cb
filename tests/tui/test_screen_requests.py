"""The commands copy, snapshot, zoom and pane in the app."""

from pathlib import Path

import pytest

from rdmalab.recovery.user_paths import state_path
from tests.tui.stand import Stand, stand


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RDMALAB_STATE", str(tmp_path / "state"))


@pytest.mark.parametrize(
    ("what", "part"),
    [("wire", "SEND_ONLY"), ("wire", "●─"), ("memory", "mr0"), ("left", "A.qp0"),
     ("answer", "A.pd0"), ("ladder", "ACK"), ("screen", " rdmalab ")],
)  # fmt: skip
async def test_a_copy_arrives_at_the_terminal_and_in_a_file(what: str, part: str) -> None:
    async with stand() as it:
        await it.say("show pd")
        answer = "\n".join(text for line in it.app.main.answer for _, text in line)
        await it.say("copy answer" if what == "answer" else f"copy {what}")
        if what == "answer":
            part = answer.split("\n")[0][:5] if part not in it.app.clipboard else part
        assert part in it.app.clipboard
        assert (state_path() / "copied.txt").read_text() == it.app.clipboard
        assert "sent to the terminal (OSC 52), and in " in " ".join(it.said.split())


@pytest.mark.parametrize("what", ["screen", "ladder", "memory"])
async def test_a_snapshot_is_written_and_nothing_else_is_replaced(
    what: str, tmp_path: Path
) -> None:
    async with stand() as it:
        await it.say(f"snapshot {what}", f"snapshot {what} x.txt")
        await it.until((tmp_path / "x.txt").exists)
        drawn = (tmp_path / f"rdmalab-{what}-ev20.svg").read_text()
        assert "<svg" in drawn[:200]
        assert (what == "ladder") or "font-variant-ligatures: none" in drawn
        await it.say(f"snapshot {what} file=x.txt")
        await it.until(lambda: "exists; choose another name" in it.said)
        assert it.app.screen.maximized is None


async def test_zoom_and_pane_show_what_they_name() -> None:
    async with stand() as it:
        it.app.say("zoom wire")
        await it.until(lambda: it.app.screen.maximized is not None)
        assert it.app.screen.maximized.id == "wire"  # type: ignore[union-attr]
        await it.press("escape")
        it.app.say("pane story")
        await it.until(lambda: bool(it.app.main.query("#story")))


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_zoomed_pane_keeps_the_clock_and_the_key_that_leads_back(
    size: tuple[int, int],
) -> None:
    async with stand(size) as it:
        it.app.say("zoom wire")
        await it.until(lambda: it.app.screen.maximized is not None)
        await it.until(lambda: it.grid[-1].startswith("F5 Unzoom"))
        assert it.grid[0].startswith(" rdmalab  2.215 us  ev 20")


def around(it: Stand) -> list[str | None]:
    """The ids of the widgets around the focus."""
    return [each.id for each in getattr(it.app.focused, "ancestors_with_self", ())]


async def test_where_the_packet_has_a_place_of_its_own_it_is_no_tab() -> None:
    async with stand((200, 60)) as it:
        tabs = it.app.main.query_one("TabRow")
        await it.until(lambda: "Notes  Memory  CQ" in it.text)
        it.app.main.bring("packet", focus=True)
        await it.until(lambda: "apart" in around(it))
        assert it.app.main.tab != "packet"
        await it.resize(120, 40)
        await it.until(lambda: "Notes  Packet  Memory" in it.text)
        it.app.say("pane packet")
        await it.until(lambda: it.app.main.tab == "packet")
        await it.resize(200, 60)
        await it.until(lambda: it.app.main.tab != "packet" and "Notes  Memory" in it.text)
        assert tabs.has_focus is False
