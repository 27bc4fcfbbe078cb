"""The application under a pilot: what is where, keys, and what panes ask of it."""

from pathlib import Path

import pytest
from textual import events
from textual.widgets import Tabs

from rdmalab.tui.panes.node import NodePane
from rdmalab.tui.screens.page import Page
from rdmalab.workbench import settings
from tests.tui.stand import Stand, stand

AGAIN = "post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED"
SIZES = [(40, 10), (60, 16), (80, 24), (80, 40), (120, 24), (120, 40), (170, 50), (200, 60)]


@pytest.mark.parametrize("size", SIZES, ids=lambda size: "x".join(map(str, size)))
async def test_the_prompt_and_the_bars_are_there_at_each_size(size: tuple[int, int]) -> None:
    async with stand(size) as it:
        assert it.grid[0].startswith(" rdmalab  2.215")
        assert any(row.lstrip(" │┃").startswith("A>") for row in it.grid)
        await it.until(lambda: "F2 Palette" in it.grid[-1])
        await it.say("show pd")
        await it.sees("A.pd0")


async def test_resizing_back_restores_the_screen() -> None:
    async with stand((80, 24)) as it:
        before = it.grid
        for size in [(200, 60), (20, 5), (120, 40), (60, 16), (80, 24)]:
            await it.resize(*size)
        await it.until(lambda: it.grid == before)


async def test_a_step_moves_the_panes_and_f7_moves_them_back() -> None:
    async with stand() as it:
        await it.say(AGAIN)
        before = it.grid[0]
        await it.press("f8")
        await it.until(lambda: "A> step" in it.said and it.grid[0] != before)
        await it.press("f7")
        await it.until(lambda: "PAST" in it.grid[0])


async def test_f9_runs_and_stops() -> None:
    async with stand() as it:
        await it.say(AGAIN)
        it.app.say("run 10000s")
        await it.until(lambda: it.app.main.model.conversation.running)
        await it.until(lambda: "RUNNING" in it.grid[0])
        await it.pilot.press("f9")
        await it.settled()
        await it.sees("stopped")


async def test_esc_leads_from_a_packet_back_to_the_wire_that_it_covers() -> None:
    async with stand((80, 24)) as it:
        it.app.main.query_one("#wire").focus()
        await it.press("enter")
        await it.until(lambda: it.app.main.tab == "packet" and bool(it.app.main.query("#packet")))
        await it.press("escape")
        await it.until(lambda: it.app.main.tab == "wire" and it.focused == "wire")
        await it.press("up", "up", "enter")
        await it.until(lambda: it.app._pane is not None and it.app._pane.id == "packet")
        await it.press("escape")
        await it.until(lambda: it.focused == "wire")
        await it.pilot.press("escape", "escape")
        await it.press(*"node B", "enter")
        await it.until(lambda: "qp0 now means B.qp0" in it.said)
        assert "SEND_ONLY" in it.text


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_a_tab_is_seen_where_the_wire_was_shown_alone(size: tuple[int, int]) -> None:
    async with stand(size) as it:
        await it.pane("wire")
        await it.pilot.press("z")
        await it.until(lambda: it.app.screen.maximized is not None)
        await it.pilot.press("up", "5")
        await it.until(lambda: it.app.screen.maximized is None)
        await it.sees("mr0", "A>")
        assert "╱╱" not in it.text


def alone(it: Stand) -> str | None:
    return getattr(it.app.screen.maximized, "id", None)


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_a_packet_of_a_zoomed_wire_is_zoomed_and_esc_leads_back(
    size: tuple[int, int],
) -> None:
    async with stand(size) as it:
        await it.pane("wire")
        await it.pilot.press("z")
        await it.until(lambda: alone(it) == "wire")
        await it.pilot.press("up", "up", "enter")
        await it.until(lambda: alone(it) in ("packet", "apart"))
        await it.sees("Ethernet", "SEND_ONLY")
        await it.pilot.press("escape")
        await it.until(lambda: (alone(it), it.focused) == ("wire", "wire"))
        await it.sees("▌")
        await it.pilot.press("z")
        await it.until(lambda: alone(it) is None)


async def test_pane_shows_and_focuses_a_pane_beside_a_prompt_that_was_shown_alone() -> None:
    async with stand() as it:
        await it.press("f5", *"pane cq", "enter")
        await it.until(lambda: it.app._pane is not None and it.app._pane.id == "cq")
        assert it.app.screen.maximized is None
        await it.press("escape", *"pane wire", "enter")
        await it.until(lambda: it.focused == "wire")


async def test_a_tab_is_made_when_it_is_asked_for() -> None:
    async with stand() as it:
        assert not it.app.main.query("#memory")
        await it.press("f6", "5")
        await it.until(lambda: bool(it.app.main.query("#memory")))
        assert it.app.main.query_one(Tabs).active == "tab-memory"
        await it.press("escape")
        assert it.focused == "prompt"


async def test_esc_leads_to_the_prompt_from_every_stop_of_f6() -> None:
    async with stand((120, 40)) as it:
        for stops in range(1, 7):
            await it.press(*["f6"] * stops, "escape", *f"sees{stops}")
            await it.sees(f"A> sees{stops}")
            await it.press("ctrl+c")


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_click_on_a_tab_leaves_the_keys_with_the_prompt(size: tuple[int, int]) -> None:
    async with stand(size) as it:
        row = next(at for at, text in enumerate(it.grid) if "Memory  CQ  Story" in text)
        await it.pilot.click(offset=(it.grid[row].index("Memory") + 1, row))
        await it.until(lambda: it.app.main.tab == "memory")
        await it.press("s", "h", "o", "w")
        assert (it.focused, it.app.prompt.text) == ("prompt", "show")


async def test_the_prompt_is_enlarged_and_small_again() -> None:
    async with stand() as it:
        await it.sees("tour   nine tasks", "^D: quit")  # the first card takes rows of the wire
        small = it.app.prompt.size.height
        await it.press("f5")
        await it.until(lambda: it.app.prompt.size.height > 2 * small)
        await it.press("f5")
        await it.until(lambda: it.app.prompt.size.height == small)


async def test_a_folded_line_is_folded_again_for_another_width() -> None:
    async with stand((80, 24)) as it:
        await it.say("why A.qp9")
        await it.say(AGAIN, "step 3")
        await it.pilot.pause(0.2)
        narrow = it.said
        await it.resize(200, 60)
        await it.until(lambda: it.said != narrow)
        await it.resize(80, 24)
        await it.until(lambda: it.said == narrow)


@pytest.mark.parametrize("theme", ["rdmalab-light", "rdmalab-terminal", "nord", "ansi-light"])
async def test_each_theme_can_be_chosen(theme: str) -> None:
    async with stand() as it:
        it.app.theme = theme
        await it.say("show pd")
        await it.sees("A.pd0")


async def test_a_theme_that_was_chosen_is_kept_and_a_setting_acts_at_once() -> None:
    async with stand() as it:
        it.app.choose_theme("rdmalab-light")
        assert settings.read().theme == "light"
        await it.say("set theme contrast")
        await it.until(lambda: it.app.theme == "rdmalab-contrast")
        await it.say("set theme nord")
        await it.until(lambda: it.app.theme == "nord")


async def test_a_click_on_a_command_in_a_pane_types_it() -> None:
    async with stand((120, 40)) as it:
        await it.say("new")
        await it.sees("no queue pair: type use rc_pair")
        row = next(at for at, text in enumerate(it.grid) if "type use rc_pair" in text)
        await it.pilot.click(offset=(it.grid[row].index("use rc_pair") + 1, row))
        await it.until(lambda: it.app.prompt.text == "use rc_pair")


async def test_lines_typed_during_a_run_are_seen_and_carried_out_in_order() -> None:
    async with stand() as it:
        await it.say("post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[0:64]")
        it.app.say("run 10000s")
        await it.sees("^C or F9 stops")
        for line in ("show pd", "show mr"):
            it.type(line)
            it.app.prompt.post_message(events.Key("enter", None))
        await it.sees("after the run: show pd⏎ show mr⏎")
        await it.pilot.press("ctrl+c")
        await it.until(lambda: "A> show mr" in it.said)
        assert it.said.index("A> show pd") < it.said.index("A> show mr")


async def test_the_frame_explains_the_argument_at_the_cursor() -> None:
    async with stand() as it:
        it.type("modify_qp A.qp0 path_mtu=")
        await it.until(lambda: any("Prompt  path_mtu=PATH_MTU" in row for row in it.grid))


async def test_the_prompt_has_the_rows_that_the_wire_does_not_need() -> None:
    async with stand() as it:
        await it.say("new", "modify_qp A.qp0 state=RTR zz=7")
        await it.until(lambda: it.app.prompt.size.height >= 9)
        await it.say("use rc_pair")
        for number in range(5):
            await it.say(f"post_recv B.qp0 wr_id={number} sg=B.mr0[0:64]")
            await it.say(f"post_send A.qp0 wr_id={number} opcode=SEND sg=A.mr0[0:64]", "run")
        await it.until(lambda: it.app.prompt.size.height == 6)


async def test_the_palette_and_show_bring_a_queue_pair_and_its_peer_to_the_cards() -> None:
    async with stand((120, 40)) as it:
        await it.say(*["use rc_pair"] * 13)
        await it.pilot.press("f2")
        await it.pilot.press(*"qp12")
        await it.pilot.pause(0.5)
        await it.pilot.press("down", "enter")
        await it.sees("qp12 0x1d RC ⇄ B.qp12", "qp12 0x1d RC ⇄ A.qp12")
        await it.say("show A.qp3")
        await it.until(lambda: isinstance(it.app.screen, Page))
        await it.press("escape")
        await it.sees("RC ⇄ B.qp3", "RC ⇄ A.qp3")


async def test_the_report_of_a_pane_that_failed_has_the_lines_that_were_typed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("RDMALAB_STATE", str(tmp_path))

    def broken(_pane: NodePane) -> None:
        raise ZeroDivisionError("of nothing")

    async with stand() as it:
        await it.say("show pd")
        monkeypatch.setattr(NodePane, "read_rows", broken)
        await it.say(AGAIN)
        await it.until(lambda: "report: " in it.said)
    (report,) = (tmp_path / "bugs").iterdir()
    assert f"> show pd\n> {AGAIN}\n" in report.read_text(encoding="utf-8")
