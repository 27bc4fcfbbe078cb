"""The application as a person meets it."""

import asyncio
import re
import time
from pathlib import Path

import pytest

from rdmalab.doctor.report import Report
from rdmalab.shell.styled_text import text_of
from rdmalab.tui import pane_table
from rdmalab.tui.launch import build
from rdmalab.tui.painter import FRAME_S
from rdmalab.tui.pane import MARKED
from rdmalab.tui.world_view import WorldView
from rdmalab.views import moment_diff
from tests.tui.stand import Stand, stand

SIZES = [
    *[(1, 1), (8, 2), (20, 5), (40, 10), (59, 15), (60, 16), (79, 23), (80, 24)],
    *[(81, 60), (100, 30), (119, 40), (120, 40), (160, 24), (200, 60)],
]
AGAIN = "post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[0:64]"


async def test_the_first_screen_is_never_empty() -> None:
    async with stand() as it:
        grid = it.grid
        assert len(grid) == 24
        assert {len(row) for row in grid} == {80}
        for text in ("[RTS]", "wr1 SEND SUCCESS", "wr1 RECV SUCCESS 64 B", "SEND_ONLY psn=0"):
            assert text in it.text
        for text in ("tour", "help", "explain RTS", "load FILE", "^D: quit"):
            assert text in it.text
        assert it.focused == "prompt"
        assert any(row.startswith("║A>") for row in grid)


async def test_the_first_screen_at_eighty_by_twenty_four() -> None:
    async with stand() as it:
        assert [row.rstrip() for row in it.grid[1:9]] == [
            "┌─ A  qp0 RC 0x11 → B.qp0 ─────────────┐┌─ B  qp0 RC 0x11 → A.qp0 ─────────────┐",
            "│RESET─INIT─RTR▶[RTS]  SQD ·sqe· ERR   ││RESET─INIT─RTR▶[RTS]  SQD ·sqe· ERR   │",
            "│SQ ■□□□□□□□ 1/8  1 done               ││SQ □□□□□□□□ 0/8                       │",
            "│RQ □□□□□□□□ 0/8  ! EMPTY              ││RQ ■□□□□□□□ 1/8  1 done  ! EMPTY      │",
            "│CQ ■□□□□□□□□□□□□□□□ 1/16  cq0         ││CQ ■□□□□□□□□□□□□□□□ 1/16  cq0         │",
            "│ ▸ wr1 SEND SUCCESS  A.qp0            ││ ▸ wr1 RECV SUCCESS 64 B  B.qp0       │",
            "│mr0 +000 68 65 6c 6c 6f 00 00 00      ││mr0 +000 68 65 6c 6c 6f 00 00 00      │",
            "└─ ■done ▶under way ▪waiting □free ────┘└─ ■done ▶under way ▪waiting □free ────┘",
        ]


async def test_what_was_done_before_the_first_screen_stands_in_the_journal() -> None:
    async with stand() as it:
        names = [entry.invocation.name for entry in it.app.scene.session.journal]
        assert names.count("create_qp") == 2
        assert names[-3:] == ["write", "post_recv", "post_send"]


@pytest.mark.parametrize("size", SIZES)
async def test_any_size_has_a_prompt(size: tuple[int, int]) -> None:
    async with stand(size) as it:
        assert len(it.grid) == size[1]
        assert {len(row) for row in it.grid} == {size[0]}
        if size[0] >= 8:
            assert any("A>" in row for row in it.grid)
        await it.press("f6", "f6", "z", "j", "2", "z", "escape", "escape")
        await it.say("step")


async def test_a_wider_screen_has_wider_bars_at_once() -> None:
    async with stand((80, 24)) as it:
        await it.resize(200, 60)
        await it.until(lambda: "100Gbps" in it.grid[0] and "Quit" in it.grid[-1])
        await it.resize(80, 24)
        await it.until(lambda: "100Gbps" not in it.grid[0])


async def test_all_queue_pairs_of_a_node_are_told_of() -> None:
    """The one that is shown is among those that are named; where more follow, dots say so."""
    async with stand((80, 24)) as it:
        for _ in range(4):
            await it.say("use rc_pair")
        (row,) = [row for row in it.grid if "QPs" in row]
        assert "[" in row
        assert "…" in row


async def test_fifty_resizes_leave_one_prompt() -> None:
    async with stand((100, 30)) as it:
        for number in range(50):
            await it.resize(60 + number * 7 % 90, 16 + number * 3 % 40)
        await it.resize(80, 24)
        await it.settled()
        await it.until(lambda: {len(row) for row in it.grid} == {80})
        assert sum(row.startswith("║A>") for row in it.grid) == 1
        assert sum("REPL" in row for row in it.grid) == 1
        assert "[RTS]" in it.text


async def test_polling_gives_the_slot_back_on_the_screen() -> None:
    async with stand() as it:
        assert "SQ ■□□□□□□□ 1/8" in it.text
        await it.say("poll_cq A.cq0")
        assert "■" not in it.grid[3][:40]
        assert "CQ □□□□□□□□□□□□□□□□ 0/16" in it.text


async def test_f8_steps_and_enter_repeats() -> None:
    async with stand() as it:
        await it.say(AGAIN)
        event = it.app.scene.session.world.event
        await it.press("f8")
        await it.press("enter")
        assert it.app.scene.session.world.event == event + 2
        assert f"ev {event + 2}" in it.grid[0]


async def test_f7_goes_back_and_enter_repeats_it() -> None:
    async with stand() as it:
        assert "ev 20 LIVE" in it.grid[0]
        await it.press("f7")
        assert "ev 19/20  PAST " in it.grid[0]
        await it.press("enter")
        assert "ev 18/20  PAST " in it.grid[0]
        await it.sees("Enter repeats: back")
        await it.say("goto end")
        assert "ev 20 LIVE" in it.grid[0]
        await it.press("enter")  # goto is not repeated
        assert it.app.scene.session.world.event == 20


@pytest.mark.parametrize("key", ["comma", "h", "left"])
async def test_back_in_a_pane(key: str) -> None:
    async with stand() as it:
        await it.press("f6", key)
        assert it.app.scene.session.world.event == 19


async def test_brackets_go_from_checkpoint_to_checkpoint() -> None:
    async with stand() as it:
        world = it.app.scene.session.world
        await it.say("goto 5", "checkpoint early", "goto 12", "checkpoint late", "goto end")
        await it.press("f6")
        for key, event in (("left", 12), ("left", 5), ("left", -1), ("right", 5), ("right", 12)):
            await it.press(f"{key}_square_bracket")
            assert world.event == event
        await it.press("right_square_bracket")
        assert world.event == 20
        assert it.app.scene.session.history.live


async def test_brackets_stay_on_the_branch() -> None:
    """A checkpoint of the past that two branches share lies on both."""
    async with stand() as it:
        await it.say("goto 5", "checkpoint early", "goto 12", "alloc_pd A.pd7")
        history = it.app.scene.session.history
        assert "branch-1 of 2" in it.grid[0]
        await it.press("f6", "left_square_bracket")
        assert (history.branch.name, it.app.scene.session.world.event) == ("branch-1", 5)


async def test_b_halts_at_packets_like_the_marked_one() -> None:
    async with stand((100, 30)) as it:
        await it.press("f6", "1", "b")
        await it.press("f6", "b")
        said = [str(point) for point in it.app.scene.session.breakpoints.by_number.values()]
        assert said[0] == "break wire.last.opcode == ACKNOWLEDGE"
        await it.press("escape", "f6", "b")
        said = [str(point) for point in it.app.scene.session.breakpoints.by_number.values()]
        assert "watch A.qp0.state" in said
        assert f"{len(said)} breaks" in it.grid[0]


async def test_the_future_is_dashed() -> None:
    async with stand((120, 40)) as it:
        await it.say(AGAIN, "step 3")
        assert any("planned" in row and "┄" in row for row in it.grid)
        assert any(row.startswith("│▶") and "RNR_NAK psn=1 timer=12" in row for row in it.grid)


async def test_a_lost_packet_is_crossed() -> None:
    async with stand((120, 40)) as it:
        await it.say("fault drop A->B nth=1", AGAIN, "step 2")
        assert "╳" in it.text
        assert "! 1 fault" in it.grid[0]


# ---- panes ---------------------------------------------------------------------------------------


async def test_f6_goes_round_and_a_double_border_tells_where() -> None:
    async with stand((120, 40)) as it:
        seen = []
        for _ in range(6):
            seen.append(it.focused)
            corners = [row.count("╔═ ") + row.count("╔══") for row in it.grid]
            assert sum("╔═ " in row for row in it.grid) == 1, corners
            await it.pilot.press("f6")
        assert seen == ["prompt", "left", "right", "wire", "story", "prompt"]
        await it.pilot.press("shift+f6")
        assert it.focused == "prompt"
        await it.pilot.press("shift+f6")
        assert it.focused == "story"
        await it.pilot.press("escape")
        assert it.focused == "prompt"


@pytest.mark.parametrize("back", ["escape", "i", "colon"])
async def test_the_way_back_to_the_prompt(back: str) -> None:
    async with stand() as it:
        await it.pilot.press("f6", back)
        assert it.focused == "prompt"


async def test_digits_bring_a_tab_to_the_front() -> None:
    async with stand() as it:
        await it.pilot.press("f6")
        for digit, wanted, text in (
            ("2", "memory", "A.mr0  4096 B"),
            ("3", "cq", "A.cq0"),
            ("4", "why", "WELL  nothing has failed"),
            ("5", "story", "A.qp0 received ACK"),
            ("7", "log", "20.1"),
            ("6", "notes", "No scenario is loaded"),
        ):
            await it.pilot.press(digit)
            assert it.focused == wanted
            await it.sees(text, f"[{digit} ")


async def test_zoom_and_back() -> None:
    async with stand() as it:
        await it.pilot.press("f6", "5", "z")
        assert [pane.id for pane in it.app.arrangement.shown()] == ["story"]
        assert any(row.startswith("║A>") or "│A>" in row for row in it.grid)
        await it.pilot.press("z")
        assert len(it.app.arrangement.shown()) == 3


async def test_enter_takes_the_marked_packet_apart() -> None:
    async with stand() as it:
        await it.pilot.press("f6", "1", "enter")
        await it.sees("B->A ACK psn=0", "Ethernet")
        await it.pilot.press("escape")
        assert it.focused == "wire"
        await it.pilot.press("k", "enter", "z")
        await it.sees("RC SEND_ONLY")


async def test_the_wire_follows_again_after_somebody_left_it() -> None:
    async with stand() as it:
        for psn, back in ((1, "escape"), (2, "f6")):
            await it.pilot.press("f6", "1", "k", "k", "k", back)
            assert it.focused == "prompt"
            await it.say("post_recv B.qp0 wr_id=2 sg=B.mr0[0:64]", AGAIN, "run")
            await it.sees(f"─ ACK psn={psn} ─┤")


async def test_a_filter_keeps_only_what_fits() -> None:
    async with stand() as it:
        await it.pilot.press("f6", "5", "slash", "A", "C", "K")
        await it.sees("show only: ACK")
        await it.pilot.press("enter")
        pane = it.app.panes[pane_table.STORY]
        assert pane.filter.pattern == "ACK"
        assert all("ack" in line.lower() for line in pane.text().splitlines())
        assert it.focused == "story"
        await it.pilot.press("slash", "escape")
        assert pane.filter.pattern == ""


async def test_a_pane_is_copied_as_text() -> None:
    async with stand() as it:
        await it.pilot.press("f6", "y")
        assert "[RTS]" in it.app.clipboard or "║RTS║" in it.app.clipboard
        await it.sees("copied", "show A.qp0")


async def test_reading_back_and_following_again() -> None:
    async with stand() as it:
        await it.pilot.press("f6", "7")
        await it.sees("above")
        await it.pilot.press("g")
        await it.sees("0.1 ", "below")
        await it.pilot.press("G")
        assert it.app.panes[pane_table.LOG].top is None


async def test_question_mark_tells_the_keys() -> None:
    async with stand((100, 60)) as it:
        await it.pilot.press("f6", "question_mark")
        await it.sees("decode the marked packet", "zoom the pane")


async def test_a_long_meaning_of_a_key_stays_in_its_column() -> None:
    async with stand((80, 24)) as it:
        await it.pilot.press("f6", "question_mark")
        await it.until(lambda: bool(re.search(r"\n {22}[a-z ]*changes *\n", it.said)))


async def test_a_world_of_many_queue_pairs() -> None:
    async with stand((120, 40)) as it:
        for number in range(1, 6):
            made = f"create_qp A.qp{number} pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0"
            await it.say(f"{made} max_send_wr=4 max_recv_wr=4")
        await it.sees("qp5 RC", "6 of 6", "[qp5 RESET]")
        await it.pilot.press("f6", "j")
        await it.sees("1 of 6", "[qp0 RTS]")
        await it.pilot.press("O")
        await it.sees("6 of 6")
        await it.pilot.press("escape")
        await it.say("destroy_qp A.qp5")
        await it.sees("of 5")


async def test_an_empty_world_says_how_to_begin() -> None:
    async with stand() as it:
        for line in ("destroy_qp A.qp0", "destroy_cq A.cq0", "dereg_mr A.mr0"):
            await it.say(line)
        await it.sees("no queue pair yet", "use rc_pair")


# ---- scenarios -----------------------------------------------------------------------------------


async def test_a_scenario_is_walked_through_with_f8_and_enter() -> None:
    async with stand((120, 40), path="scenarios/rc/send.rdmalab.yaml") as it:
        await it.sees("SEND, the message that needs a receive", "step 2/15", "Next note")
        await it.press("f8")
        await it.sees("B posts a buffer first.", "step 4/15")
        await it.press("enter")
        await it.sees("step 7/15")
        for _ in range(4):
            await it.press("enter")
        await it.sees("The end.")
        assert "Next note" not in it.grid[-1]


async def test_f8_mirrors_f7_and_next_goes_on_with_the_walk() -> None:
    async with stand((120, 40), path="scenarios/rc/send.rdmalab.yaml") as it:
        await it.press("f8", "f8")
        stood = it.app.scene.session.world.event
        await it.press("f7", "f7", "f8")
        assert it.app.scene.session.world.event == stood - 1
        assert "Next note" not in it.grid[-1]
        await it.press("f8")
        assert "Next note" in it.grid[-1]
        await it.press("f7")
        await it.say("next")
        assert "back to the last step" in it.said
        assert it.app.scene.session.world.event > stood


async def test_the_notes_come_to_the_front_where_there_is_no_place_beside() -> None:
    async with stand(path="scenarios/rc/send.rdmalab.yaml") as it:
        await it.sees("[6 Notes]", "SEND, the message that needs a receive")
        await it.press("f8")
        await it.sees("B posts a buffer first.")
        await it.press("f6", "1", "escape", "f8")
        await it.sees("[1 Wire]")  # who chose another tab keeps it
        await it.say('load "scenarios/rc/send.rdmalab.yaml"')
        await it.sees("[6 Notes]")


async def test_a_scenario_that_fails_shows_what_it_expected(tmp_path: Path) -> None:
    file = tmp_path / "wrong.rdmalab.yaml"
    file.write_text(
        "rdmalab: 1\ntitle: wrong\nsetup:\n  - use rc_pair\nsteps:\n"
        "  - note: look\n  - run: until idle\n    expect:\n      - A.cq0.count == 7\n"
    )
    async with stand((120, 40)) as it:
        await it.say(f'load "{file}"')
        await it.press("f8")
        await it.sees("A.cq0.count == 7", "expect line 1")
        await it.pilot.press("f6")
        assert "expected" in it.app.panes[pane_table.NOTES].text()


async def test_a_file_that_is_not_there_is_a_sentence() -> None:
    async with stand() as it:
        await it.say("load nowhere.rdmalab.yaml")
        await it.sees("nowhere.rdmalab.yaml")
        assert it.app.is_running


# ---- long runs -----------------------------------------------------------------------------------


async def _running(it: Stand) -> None:
    await it.say(AGAIN)
    it.app.console_pane.say("run")
    await it.until(lambda: it.app.scene.talk.running)


@pytest.mark.parametrize("key", ["ctrl+c", "f9"])
async def test_an_endless_run_is_stopped_and_the_screen_lives(key: str) -> None:
    async with stand() as it:
        await _running(it)
        await it.sees("running")
        before = it.app.scene.session.world.event
        await asyncio.sleep(3 * FRAME_S)
        assert it.app.scene.session.world.event > before
        started = asyncio.get_running_loop().time()
        await it.pilot.press(key)
        await it.until(lambda: not it.app.scene.talk.running)
        assert asyncio.get_running_loop().time() - started < 1  # generous: a loaded machine
        await it.settled()
        await it.sees("stopped", "paused")
        assert it.app.is_running


@pytest.mark.parametrize("key", ["ctrl+c", "f9"])
@pytest.mark.parametrize("search", ["rewind", "trace A.qp0.sq_psn"])
async def test_a_search_through_the_past_is_stopped_where_it_began(search: str, key: str) -> None:
    async with stand() as it:
        session = it.app.scene.session
        session.max_events = 60_000
        await it.say(AGAIN, "run", "watch B.mr0[100:105]")
        before, facts = session.history.here, moment_diff.facts(session.world, session.names)
        it.app.console_pane.say(search)
        await it.until(lambda: it.app.scene.talk.searching)
        await it.sees("searching")
        panes = it.grid[1:14]
        await asyncio.sleep(FRAME_S)
        assert it.grid[1:14] == panes  # they do not show what nobody asked for
        assert it.app.scene.talk.searching
        started = asyncio.get_running_loop().time()
        await it.pilot.press(key)
        await it.until(lambda: not it.app.scene.talk.running)
        assert asyncio.get_running_loop().time() - started < 1  # generous: a loaded machine
        await it.settled()
        assert "stopped" in it.said
        assert session.history.live
        assert session.history.here == before
        assert moment_diff.facts(session.world, session.names) == facts


# ---- terminals -----------------------------------------------------------------------------------


async def test_ascii_has_no_character_beyond(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RDMALAB_ASCII", "1")
    for size in ((80, 24), (120, 40), (200, 60)):
        async with stand(size) as it:
            await it.say(AGAIN, "step 3", "show qp", "help")
            for keys in (("f6",), ("3",), ("4",), ("5",), ("7",), ("1", "enter")):
                await it.pilot.press(*keys)
                assert re.findall(r"[^\x00-\x7f]+", it.text) == []
            assert "#=" in it.text
            assert {row[-1] for row in it.grid[1:-1] if row[0] in "+|#"} <= set("+|#")


async def test_without_colour_only_bold_underline_and_reverse(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with stand((120, 40)) as it:
        await it.say(AGAIN, "step 3")
        await it.pilot.press("f6", "f6", "f6", "k")
        strips = it.app.screen._compositor.render_strips()
        for strip in strips:
            (only,) = it.app.get_line_filters()
            for segment in strip.apply_filter(only, it.app.screen.background_colors[1]):
                assert not (segment.style and (segment.style.color or segment.style.bgcolor))
        assert "[RTS]" in it.text or "║RTS║" in it.text


async def test_f2_begins_the_sentence_that_saves() -> None:
    async with stand() as it:
        await it.press("f6", "f2")
        assert it.focused == "prompt"
        await it.until(lambda: any(row.startswith("║A> save") for row in it.grid))
        await it.press("f2")  # what is being typed stays
        buffer = it.app.console_pane.live.session.default_buffer
        assert buffer.text == "save "


async def test_what_is_shared_is_on_the_clipboard() -> None:
    async with stand() as it:
        await it.say("share")
        assert it.app.clipboard.startswith("rdmalab:2:")


async def test_the_app_opens_what_somebody_shared() -> None:
    async with stand() as it:
        await it.say("poll_cq A.cq0; share")
        word = it.app.clipboard
    app = build(shared=word)
    assert app.script == [f"open {word}"]
    assert not app.scene.session.journal


@pytest.mark.parametrize("size", [(59, 15), (120, 40)])
async def test_before_anything_happened_every_pane_has_something_to_say(
    size: tuple[int, int],
) -> None:
    async with stand(size) as it:
        await it.say("goto start")
        await it.press("f6")
        for digit in "12345678":
            await it.pilot.press(digit, "enter", "j", "o", "b", "escape", "f6")
        await it.press("z", "left_square_bracket", "comma", "z")
        assert it.app.is_running
        assert it.app.scene.session.world.event == -1
        assert {len(row) for row in it.grid} == {size[0]}


async def test_the_tape_at_a_hundred_and_twenty_by_forty() -> None:
    async with stand((120, 40)) as it:
        await it.say("goto 10", "checkpoint init", "goto 18")
        assert it.grid[1].rstrip() == (
            " ├──●──●──●──●──●──●──●──●──●──●──◆init─●──●──●──●──●──┼──▲──┼──┼"
            "  ┄▷ next: 1.210us B.qp0 sends an answer"
        )
        await it.say("show time")
        assert "ev 18 of 20, PAST, at 1.110us of 2.215us; on main" in it.said
    async with stand((119, 40)) as it:
        assert "├" not in it.grid[1]


# --------------------------------------------------------------------------- why
DENIED = (
    "post_send A.qp0 wr_id=7 opcode=RDMA_WRITE sg=A.mr0[0:5] remote_addr=1 rkey=1 flags=SIGNALED"
)


@pytest.mark.parametrize(
    ("size", "title"),
    [((80, 24), ""), ((120, 40), "─ Why  A.qp0.wr[7] ─"), ((200, 60), "─ [4 Why]│ 5 Story │")],
)
async def test_an_answer_comes_beside_the_wire_where_there_is_room(
    size: tuple[int, int], title: str
) -> None:
    async with stand(size) as it:
        await it.say(DENIED, "run", "why A.qp0.wr[7]")
        assert bool(title) == (it.app.panes[pane_table.WHY].place is not None)
        await it.sees(title)
        assert it.focused == "prompt"
        await it.press("f6", "4")
        await it.sees("[4 Why]" if size != (120, 40) else title.strip("─ "), "FAILED  A.qp0.wr[7]")
        assert it.focused == "why"


async def test_an_answer_follows_the_world_and_its_keys_are_sentences() -> None:
    async with stand((120, 40)) as it:
        await it.say(DENIED, "why A.qp0.wr[7]")
        await it.sees("PENDING  A.qp0.wr[7]")
        await it.press("f6", "4", "f9")
        await it.sees("FAILED  A.qp0.wr[7]", "Enter Go there", "a Apply", "e Explain")
        await it.sees("c Checklist")
        await it.press("c")
        assert "A> checklist no-completion A.qp0.wr[7]" in it.said
        await it.press("enter")
        assert "A> goto 25" in it.said
        await it.press("j", "e")
        assert "A> explain cause rem-access" in it.said
        await it.press("a")
        assert it.said.count("= post_send A.qp0") == 1
        await it.press("f9")
        await it.sees("COMPLETED  A.qp0.wr[7]")


async def test_the_way_to_an_event_keeps_the_answer_that_named_it() -> None:
    async with stand((120, 40)) as it:
        await it.say(DENIED, "run", "why A.qp0.wr[7]")
        await it.press("f6", "4", "j", "j", "enter")
        await it.sees("PAST", "as of ev 25", "B.qp0 refused it")
        why = it.app.panes[pane_table.WHY]
        reversed_ = [line for line in why._body if line[0][0] == MARKED]
        assert "B.qp0 refused it" in text_of(reversed_[0])
        await it.press("escape")
        await it.say("goto end")
        await it.sees("FAILED  A.qp0.wr[7]")
        assert "as of" not in it.text


async def test_notes_and_answer_take_turns_beside_the_wire() -> None:
    async with stand((120, 40), path="scenarios/rc/send.rdmalab.yaml") as it:
        await it.sees("─ Notes  step")
        await it.say("why")
        await it.sees("─ Why ", "WELL  nothing")
        await it.say("next")
        await it.sees("─ Notes  step")
        await it.say("why")
        await it.sees("─ Why ")


async def test_an_answer_that_took_long_waits_until_nothing_moves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []
    consult = WorldView.consult

    def slowly(stage: WorldView, question: str) -> Report | str:
        asked.append(question)
        time.sleep(0.05)
        return consult(stage, question)

    monkeypatch.setattr(WorldView, "consult", slowly)
    async with stand((120, 40)) as it:
        await it.say(AGAIN, "why")
        assert asked == []  # the prompt had the answer
        for _ in range(4):
            await it.pilot.press("f8")
        await it.settled()
        assert len(asked) <= 2
        await it.until(lambda: "as of" not in it.text)
        assert 1 <= len(asked) <= 3


async def test_a_pane_that_raises_is_told_once_and_ends_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("RDMALAB_STATE", str(tmp_path))
    async with stand((120, 40)) as it:
        with monkeypatch.context() as patched:
            patched.setattr(WorldView, "meant", lambda *_given: 1 // 0)
            await it.say("alloc_pd A.pd7")
            await it.say("alloc_pd A.pd8")
            assert it.said.count("a bug in rdmalab") == 1
        await it.say("show pd")
        assert "A.pd8" in it.text
