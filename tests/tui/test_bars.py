from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from rdmalab.tui.bars import Head, Tape
from tests.tui.panes.cards import SEND, at
from tests.tui.playing import first
from tests.tui.stand import stand

if TYPE_CHECKING:
    from rdmalab.tui.world_view import WorldView


def _keys(row: str) -> str:
    """The keys of a footer, one space apart, whatever room there is."""
    return re.sub(" +", " ", row.split("F2 Palette")[0])


async def test_no_key_of_the_footer_is_cut_off() -> None:
    async with stand((200, 60)) as it:
        whole = _keys(it.grid[-1])
        for columns in range(30, 131, 10):
            await it.resize(columns, 24)
            await it.until(lambda columns=columns: len(it.grid[-1]) == columns)  # type: ignore[misc]
            await it.pilot.pause()
            keys = _keys(it.grid[-1]).rstrip()
            assert whole.startswith(keys), keys
            assert not whole[len(keys) :].strip() or whole[len(keys)] == " ", keys


async def test_a_click_on_a_key_of_the_footer_presses_it() -> None:
    async with stand((120, 40)) as it:
        column = it.grid[-1].index("F7 Back")
        await it.pilot.click(offset=(column + 1, 39))
        await it.sees("A> back")
        await it.pilot.click(offset=(it.grid[-1].index("F1 Help"), 39))
        await it.until(lambda: it.app.screen is not it.app.main)


async def test_the_footer_says_what_f8_f9_and_f5_do_now() -> None:
    async with stand((120, 40)) as it:
        await it.sees("F8 Step", "F9 Run", "F5 Zoom")
        await it.say("load rc/send")
        await it.sees("F8 Next")
        await it.press("f7")
        await it.sees("F8 Step")  # in the past
        await it.say("goto end")
        await it.sees("F8 Next")
        await it.press("f5")
        await it.sees("F5 Unzoom")
        await it.press("f5")
        await it.say("new", "use rc_pair", "post_send A.qp0 opcode=SEND sg=A.mr0[0:64]")
        await it.sees("F8 Step", "F5 Zoom")
        it.app.say("run 100000s")
        await it.sees("F9 Stop")
        await it.pilot.press("f9")
        await it.sees("F9 Run")


async def test_a_query_leaves_the_caption_of_what_happened_last() -> None:
    async with stand((120, 40)) as it:
        before = it.grid[2]
        await it.say("query_qp A.qp0", "show nonsense")
        assert it.app.main.model.session.world.event == 21
        assert it.grid[2] == before
        await it.say("poll_cq B.cq0")
        await it.until(lambda: it.grid[2] != before)


async def test_the_caption_is_not_repeated_below_it() -> None:
    async with stand((200, 60)) as it:
        await it.say('write A.mr0[0:5] "hello"')
        await it.sees("The application wrote 5 bytes at A.mr0[0]")
        assert it.grid[3].strip() == ""


async def test_a_click_on_the_tape_goes_to_its_event() -> None:
    async with stand((120, 40)) as it:
        await it.pilot.click("#tape", offset=(1, 0))
        await it.sees("A> goto start")


# ---- the head and the tape, drawn alone ---------------------------------------------------------
def head(view: WorldView, width: int = 200) -> str:
    with view.frame():
        return Head(view, id="head").lines(width, 1)[0][1].plain


HEADS = {
    "first": "2.215 us  ev 20  LIVE  idle: nothing is pending",
    "wrong rkey": "4.427 us  ev 28  LIVE  ✗ A.qp0 B.qp0 in ERR  idle: nothing is pending",
    "rnr": "4.425 us  ev 25  LIVE  next: A.qp0 RNR timer at 644.425 us",
    "lost": "2.315 us  ev 24  LIVE  next: A.qp0 ack timer at 67.1112 ms  1 fault",
    "dead": "2.315 us  ev 38  LIVE  ✗ dead: A.qp1.wr[4] waits, nothing is planned  1 fault",
    "sqd": "2.215 us  ev 22  LIVE  idle: A.qp0.wr[2] waits in SQD",
    "five": "4.427 us  ev 85  LIVE  ✗ 3 QPs in ERR  idle: nothing is pending",
    "srq": "2.211 us  ev 31  LIVE  idle: nothing is pending  example 12 of 12",
}


@pytest.mark.parametrize(("moment", "text"), HEADS.items())
def test_what_the_head_says(moment: str, text: str) -> None:
    assert head(at(moment)) == f" rdmalab  {text}  profile strict"


def test_what_says_least_goes_first() -> None:
    assert head(at("dead"), 80) == (
        " rdmalab  2.315 us  ev 38  LIVE  ✗ dead: A.qp1.wr[4] waits, nothing is planned"
    )
    assert head(at("dead"), 34).endswith("ev 38  LIVE")
    assert "fault" not in head(at("dead"), 80)


def test_the_head_in_the_past_on_a_branch_with_a_fault_and_without_a_cable() -> None:
    lab, view = first("link down", "fault drop A->B", "goto 12")
    assert " ev 12 of 22  PAST " in head(view)
    lab.do("alloc_pd A.pd7")
    assert "branch-1 of 2" in head(view)
    lab.do("link down")
    assert "✗ link DOWN" in head(view)


def test_the_tape_marks_what_failed_was_refused_and_lost() -> None:
    lab, view = first("fault drop A->B nth=1", SEND, "step", SEND)
    assert lab.session.world.event == 24
    for tape, letter in ((Tape(at("wrong rkey"), id="tape"), "!"), (Tape(view, id="tape"), "╳")):
        line = tape.lines(120, 1)[0][1].plain
        assert letter in line
        assert line.endswith("▲ now")
        assert len(line) <= 120
