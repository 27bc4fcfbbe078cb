"""A lesson and the tour in the app: the wire stays in sight, and nothing is told twice."""

from itertools import pairwise
from pathlib import Path

import pytest

from rdmalab.recovery.user_paths import STATE
from tests.classroom.labs import plain_lab
from tests.shell.test_kept_labs import shown_lines
from tests.tui.stand import Stand, stand

LESSON = "load err/rnr-retry-exceeded"
RECEIVE = "post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]"


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STATE, str(tmp_path))


def times(it: Stand, text: str) -> int:
    return it.text.count(text)


async def test_at_80x24_a_lesson_leaves_the_wire_and_says_its_note_once() -> None:
    async with stand((80, 24)) as it:
        await it.say(LESSON)
        await it.sees("F8      Nothing is posted on B. Post a SEND on A.")
        assert times(it, "Nothing is posted on B.") == 1
        await it.press("f8")
        await it.sees("asked   How does wr7 end? a, b or c answers", "a) Not at all.", "RNR_NAK")
        await it.press("f8")
        await it.sees("F8      In ERR work may still be posted.", "RNR_NAK")
        assert times(it, "In ERR work may still be posted.") == 1


async def test_at_80x24_a_long_note_that_was_seen_has_a_second_row() -> None:
    async with stand((80, 24)) as it:
        await it.say(LESSON, "next", "next", "next")
        await it.sees("it comes back", "        flushed.", "F8      B.qp0 is still in RTS.")
        await it.say("load loss/lost-packet")
        await it.until(lambda: it.app.main.query_one("#strip").size.height == 2)


async def test_at_120x40_the_notes_have_the_page_and_the_prompt_has_the_lines() -> None:
    async with stand((120, 40)) as it:
        await it.say(LESSON)
        await it.press("f8")
        await it.sees("How does wr7 end?", "step 6 of 14")
        assert times(it, "How does wr7 end?") == 1
        assert times(it, "a) Not at all.") == 1
        await it.press("f6", "1", "escape", "f8")  # another tab is in front: the prompt says it
        await it.sees("In ERR work may still be posted.")


async def test_a_pane_that_is_made_late_does_not_cover_the_tab_in_front() -> None:
    async with stand((120, 40)) as it:
        await it.say(LESSON)
        await it.sees("Nothing is posted on B.")
        it.app.main._front("why")  # the timer of the start, behind the lesson
        await it.pilot.pause(0.5)
        await it.sees("Nothing is posted on B.")


async def test_at_40x10_the_prompt_says_all() -> None:
    async with stand((40, 10)) as it:
        await it.say(LESSON)
        assert "Nothing is posted on B. Post a SEND on" in it.said


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=lambda size: "x".join(map(str, size)))
async def test_a_lesson_comes_to_the_front_of_why(size: tuple[int, int]) -> None:
    async with stand(size) as it:
        await it.press("f6")
        await it.press("2" if size == (80, 24) else "1", "escape")
        await it.say(LESSON)
        await it.sees("Nothing is posted on B. Post a SEND on A.")
        await it.press("f8")
        await it.sees("RNR_NAK")


async def test_tab_writes_the_lines_of_the_tour_one_by_one() -> None:
    async with stand((80, 24)) as it:
        await it.say("tour")
        for node in "AB":
            await it.press("tab")
            await it.sees(f"A> modify_qp {node}.qp0 state=INIT")
            await it.press("enter")
            await it.settled()
        await it.sees("task    11 %  ✓●·······  2. A receive for B", f"Tab     {RECEIVE}")
        await it.press("tab", "enter")
        await it.sees("22 %  ✓✓●······  3. INIT to RTR: ready to receive")


async def test_at_80x24_the_tour_leaves_the_packets_in_sight() -> None:
    async with stand((80, 24)) as it:
        await it.say("tour")
        for line in shown_lines():
            await it.say(line)
            if "step" in line or "run" in line:
                break
        await it.sees("SEND_ONLY psn=0", "task    ")
        assert it.app.main.tab == "wire"


async def test_the_tasks_of_a_lab_stay_seen_at_80_columns(tmp_path: Path) -> None:
    async with stand((80, 24)) as it:
        await it.say(f"load {plain_lab(tmp_path, 'by-hand')} student=s1")
        await it.sees("task    0 %  ● attributes  · up  · hello  ? back")
        await it.say("answer 1")
        await it.sees("task    0 %  ✗ attributes  · up  · hello  ? back")
        await it.say("answer 2")
        await it.say("why")
        await it.press("escape")
        await it.sees("task    14 %  ✓ attributes  ● up  · hello  ? back")


async def test_the_list_of_tasks_stands_once_and_the_prompt_has_the_question() -> None:
    async with stand((120, 40)) as it:
        await it.say("load labs/sq-full student=s1")
        await it.until(lambda: it.app.main.tab == "notes")
        await it.sees("explain", "deliver", "a, b or c answers")
        assert sum("deliver" in row for row in it.grid) == 1
        assert "Why is the queue full?" in it.said


async def test_why_covers_the_tasks_until_the_next_line_and_the_strip_has_them() -> None:
    async with stand((120, 40)) as it:
        await it.say("load labs/by-hand student=s1")
        await it.say("modify_qp A.qp0 state=RTS")
        await it.say("why")
        await it.until(lambda: it.app.main.tab == "why")
        await it.sees("task    0 %  ● attributes")
        await it.say("query_qp A.qp0")
        await it.until(lambda: it.app.main.tab == "notes")
        await it.until(lambda: not it.app.main.has_class("-tasks-covered"))


async def test_tab_completes_where_something_is_typed() -> None:
    async with stand((80, 24)) as it:
        await it.say("tour")
        it.type("check")
        await it.press("tab")
        await it.sees("checkpoint", "checklist")


async def test_after_a_page_with_a_shortened_fix_tab_leads_to_all_of_it() -> None:
    async with stand((80, 24)) as it:
        await it.say(
            "post_send A.qp0 wr_id=7 opcode=RDMA_WRITE sg=A.mr0[0:5] remote_addr=0x1064 rkey=0xdead"
        )
        await it.say("run", "why A.qp0.wr[7]")
        await it.until(lambda: len(it.app.screen_stack) > 1)
        await it.press("escape")
        await it.sees("… and 3 more: why -v A.qp0.wr[7]", "Tab: why -v A.qp0.wr[7]")
        await it.press("tab")
        await it.sees("A> why -v A.qp0.wr[7]")


async def test_the_frame_has_the_whole_description_of_the_chosen_row() -> None:
    async with stand((80, 24)) as it:
        it.type("load bringup/by")
        await it.sees("A reliable connection, br")
        it.app.prompt.press("tab")
        it.app.prompt.press("tab")
        await it.sees("━Prompt  A reliable connection, brought up by hand━")


async def test_shift_f8_is_one_event_in_a_lesson() -> None:
    async with stand((80, 24)) as it:
        await it.say(LESSON)
        before = it.app.main.model.session.world.event
        await it.say("post_send A.qp0 opcode=SEND wr_id=1 sg=A.mr0[0:64]")
        await it.press("shift+f8")
        await it.until(lambda: it.app.main.model.session.world.event == before + 2)


async def test_notes_and_why_are_copied_as_text() -> None:
    async with stand((120, 40)) as it:
        await it.say(LESSON)
        from rdmalab.tui.screen_requests import text

        assert "Nothing is posted on B." in text(it.app, "notes")
        assert text(it.app, "why").startswith("WELL")


async def test_above_the_line_for_tab_there_is_more_to_read() -> None:
    async with stand((80, 24)) as it:
        await it.say("tour")
        await it.until(lambda: "rows below, PgDn  Tab: the line that comes next" in it.text)


async def test_tab_shows_the_line_that_it_takes_also_after_scrolling_back() -> None:
    async with stand() as it:
        await it.say("tour again")
        await it.pilot.press("pageup", "pageup")
        assert not it.app.prompt.is_vertical_scroll_end
        await it.pilot.press("tab")
        await it.until(lambda: it.app.prompt.text.startswith("modify_qp A.qp0"))
        await it.until(lambda: it.app.prompt.is_vertical_scroll_end)


async def test_a_key_that_is_typed_before_a_task_was_drawn_keeps_the_prompt_in_sight() -> None:
    async with stand() as it:
        it.app.say("tour again")
        it.type("s")
        await it.until(lambda: "A> s" in it.text)
        await it.settled()
        await it.pilot.pause(0.1)
        assert "A> s" in it.text


def first_row_of_the_prompt(it: Stand) -> str:
    """The row below its border, wherever that is: the wire grows when its packets are known."""
    return next((row for above, row in pairwise(it.grid) if above.startswith("━Prompt")), "")


@pytest.mark.parametrize("line", ["tour again", "load labs/sq-full student=me"])
async def test_a_task_is_read_from_its_first_row_and_a_key_shows_the_end(line: str) -> None:
    async with stand() as it:
        it.app.say(line)
        title = "Tour: from" if "tour" in line else "A send queue that stays full"
        await it.until(lambda: title in first_row_of_the_prompt(it))
        await it.sees("rows below, PgDn")
        await it.press("s")
        await it.until(lambda: "A> s" in it.text)


LONG = """rdmalab: 1
title: A long note
setup: [use rc_pair]
steps:
  - note: |
      {}
  - do: alloc_pd A.pd7
"""


async def test_a_note_higher_than_its_pane_is_read_to_its_end(tmp_path: Path) -> None:
    file = tmp_path / "long.rdmalab.yaml"
    words = " ".join(f"word{number}." for number in range(150))
    file.write_text(LONG.format(words), "utf-8")
    async with stand((120, 40), path=str(file)) as it:
        await it.sees("word0.", "rows below")
        await it.pane("notes")
        await it.press("end")
        await it.sees("word149.")
        await it.until(lambda: "rows below" not in it.text)


async def test_the_open_task_is_in_the_list_of_the_tasks_with_its_text() -> None:
    async with stand((120, 40)) as it:
        await it.say("tour")
        await it.sees("● 1. RESET to INIT", "· 2. A receive for B")
        page = "\n".join(row[72:] for row in it.grid[16:28])
        assert page.count("1. RESET to INIT") == 1


async def test_nothing_on_the_screen_answers_an_open_question() -> None:
    async with stand((120, 40)) as it:
        await it.say(LESSON)
        await it.press("f8")
        await it.sees("How does wr7 end?", "RNR timer until")
        rows = [row for row in it.grid if "◷" in row or row.startswith((" !", " ◷"))]
        assert rows
        assert not any("again" in row or "(planned)" in row for row in rows)
        await it.say("b")
        await it.sees("RNR timer fires: resends psn=0")


async def test_a_note_that_fits_has_no_row_below() -> None:
    path = "scenarios/time/rnr-then-receive.rdmalab.yaml"
    async with stand((120, 40), path=path) as it:
        await it.say("next")
        await it.sees("step 5 of 11", "and 2 more")
        await it.until(lambda: "below: the wheel" not in it.text)
