"""Answers that are longer than the prompt, help, events: pages read from their beginning."""

import asyncio
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.keys import _character_to_key

from rdmalab.tui.finding import Ask
from rdmalab.tui.layouts import Cover
from rdmalab.tui.palette import Palette
from rdmalab.tui.screens.answers import answer_page
from rdmalab.tui.screens.checklist import Checklist
from rdmalab.tui.screens.lessons import Lessons
from rdmalab.tui.screens.page import Page
from rdmalab.tui.screens.presenter import Presenter
from tests.shell.test_kept_labs import shown_lines
from tests.tui.stand import Stand, stand

WRITE = "post_send A.qp0 opcode=RDMA_WRITE wr_id=7 sg=A.mr0[0:5] remote_addr=0x1064 rkey=0xdead"


def page(it: Stand) -> Page:
    assert isinstance(it.app.screen, Page), it.text
    return it.app.screen


async def opened(it: Stand) -> Page:
    await it.until(lambda: isinstance(it.app.screen, Page))
    await it.pilot.pause(0.05)
    return page(it)


async def test_a_long_answer_opens_at_its_beginning_and_esc_goes_back_to_the_prompt() -> None:
    async with stand() as it:
        await it.say("help all")
        await opened(it)
        await it.sees("help all", "rows 1 to", "Esc Back")
        assert it.grid[0].startswith(" rdmalab")
        await it.press("escape")
        assert it.focused == "prompt"


async def test_a_short_answer_and_a_run_stay_in_the_prompt() -> None:
    async with stand() as it:
        await it.say("show pd", WRITE, "run")
        await it.pilot.pause(0.1)
        assert not isinstance(it.app.screen, Page)


async def test_the_tour_asks_beside_the_prompt_on_the_smallest_screen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RDMALAB_STATE", str(tmp_path))
    lines = shown_lines()
    async with stand((80, 24)) as it:
        await it.say("tour", *lines[: lines.index("poll_cq B.cq0") + 1])
        await it.pilot.pause(0.1)
        await it.sees(
            "7. A message without a receive", "a) an ACK   b) an RNR NAK   c) nothing", "A>"
        )
        assert not isinstance(it.app.screen, Page)


async def test_a_long_run_shows_its_end_what_came_of_it_and_the_wire() -> None:
    async with stand() as it:
        await it.say("post_send A.qp0 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED", "run 5ms")
        await it.pilot.pause(0.1)
        assert it.app.screen is it.app.main
        await it.sees("RNR_NAK psn=1", "cause  A.qp0 was given rnr_retry=7", "time is up")


async def test_on_a_high_screen_a_change_covers_nothing_and_what_is_read_is_a_page() -> None:
    async with stand((200, 60)) as it:
        await it.say("use rc_pair")
        await it.sees("A.qp1 is in RTS, B.qp1 is in RTS")
        await it.pilot.pause(0.1)
        assert it.app.screen is it.app.main
        await it.say("help post_send")
        await opened(it)


async def test_a_zoomed_pane_is_covered_by_no_empty_page_but_by_answers() -> None:
    async with stand((120, 40)) as it:
        it.app.say("zoom wire")
        await it.until(lambda: it.app.screen.maximized is not None)
        await it.pilot.pause(0.1)
        assert it.app.screen is it.app.main
        it.app.say("show pd")
        await opened(it)
        await it.sees("A.pd0")


@pytest.mark.parametrize(
    ("lines", "first"),
    [
        (("use rc_pair",), "= alloc_pd A.pd1"),
        (("modify_qp A.qp0 state=RESET", "modify_qp B.qp0 state=RESET", "connect A.qp0 B.qp0"),
         "= modify_qp A.qp0 state=INIT"),
        ((f"{WRITE} flags=SIGNALED", "run", "apply"), "= modify_qp"),
    ],
)  # fmt: skip
async def test_a_long_answer_of_a_change_opens_at_its_beginning(
    lines: tuple[str, ...], first: str
) -> None:
    async with stand() as it:
        *before, last = lines
        if before:
            await it.say("; ".join(before))
        it.app.prompt.focus()
        it.app.say(last)
        await it.until(lambda: getattr(it.app.screen, "heading", "") == last)
        await it.until(lambda: "".join(it.grid[2:3]).strip().startswith(first))
        await it.pilot.press(*"show pd", "enter")
        await it.until(lambda: "A> show pd" in it.said)
        assert it.app.screen is it.app.main


async def test_a_short_page_is_as_high_as_its_text() -> None:
    async with stand((120, 40)) as it:
        it.app.action_open("show A.qp0")
        found = await opened(it)
        await it.until(lambda: found._sheet.size.height == len(found._rows))


async def test_a_page_is_left_by_a_key_that_says_a_line() -> None:
    async with stand() as it:
        await it.say("use rc_pair")
        await opened(it)
        await it.pilot.press("f8")
        await it.until(lambda: "A> step" in it.said)
        await it.until(lambda: it.app.screen is it.app.main)


async def test_find_marks_and_n_goes_on() -> None:
    async with stand() as it:
        await it.say("help all")
        found = await opened(it)
        await it.pilot.press("slash", *"post")
        await it.until(lambda: found._at >= 0)
        first = found._at
        await it.pilot.press("down")
        await it.until(lambda: found._at > first)
        await it.pilot.press("up")
        await it.until(lambda: found._at == first)
        await it.pilot.press("enter")
        await it.sees("n next  N previous  Esc")
        await it.pilot.press("n")
        await it.until(lambda: found._at > first)
        await it.pilot.press("N")
        await it.until(lambda: found._at == first)
        await it.pilot.press("escape")
        await it.pilot.pause()
        assert it.app.screen is found
        assert found._wanted == ""
        await it.sees("letters go to the prompt")


async def test_a_text_that_a_page_has_not_is_reported_beside_its_rows() -> None:
    async with stand() as it:
        await it.say("help all")
        found = await opened(it)
        await it.pilot.press("slash", *"zzz", "enter")
        await it.sees("none found   Esc")
        assert found.is_typing
        await it.pilot.press("escape", "h")
        await it.until(lambda: it.app.prompt.text == "h")


async def test_why_has_its_keys() -> None:
    async with stand() as it:
        await it.say(f"{WRITE} flags=SIGNALED", "run", "why")
        await opened(it)
        await it.sees("1 Go to event", "2 Apply the fix", "3 Checklist", "4 Explain", "5 Copy")
        await it.pilot.press("3")
        await it.until(lambda: isinstance(it.app.screen, Checklist))
        await it.sees("of A.qp0.wr[7]", "1 Explain the check")
        await it.pilot.press("escape")
        await it.say("why")
        await opened(it)
        refused = next(row for row in it.grid if "key of no MR" in row)
        event = refused.split("[ev ")[1].split("]")[0]
        await it.pilot.press("1")  # to the evidence, and not to the end, where one is
        await it.until(lambda: f"A> goto {event}" in it.said)


async def test_a_click_on_the_evidence_of_a_page_opens_its_event() -> None:
    async with stand() as it:
        await it.say(f"{WRITE} flags=SIGNALED", "run", "why")
        await opened(it)
        y, row = next((y, row) for y, row in enumerate(it.grid) if "key of no MR" in row)
        event = row.split("[ev ")[1].split("]")[0]
        await it.pilot.click(offset=(row.index("[ev ") + 2, y))
        await it.sees(f"event {event}", "1 Go there")


async def test_an_answer_to_a_line_typed_with_an_open_menu_is_a_page() -> None:
    """The menu takes rows for as long as one types: the answer has only those that stay."""
    async with stand((80, 24)) as it:
        await it.say(f"{WRITE} flags=SIGNALED", "run")
        small = it.app.prompt.size.height
        await it.press(*"why")
        await it.until(lambda: it.app.prompt.size.height > small)
        await it.press("enter")
        await opened(it)
        assert "FAILED" in it.text


@pytest.mark.parametrize(
    ("key", "first"), [("f1", "Type a command"), ("question_mark", "One node")]
)
async def test_f1_is_help_on_what_has_the_focus(key: str, first: str) -> None:
    async with stand() as it:
        if key != "f1":
            await it.press("f6")
        await it.pilot.press(key)
        found = await opened(it)
        assert found.lines[0][0][1].startswith(first)
        assert "Everywhere" in found.text
        await it.pilot.press("escape")
        it.type("post_send ")
        await it.until(lambda: it.app.prompt.text == "post_send ")
        it.app.prompt.focus()
        await it.pilot.press("f1")
        assert (await opened(it)).heading == "help post_send"


async def test_an_event_is_opened_and_its_key_goes_there() -> None:
    async with stand() as it:
        it.app.action_event(17)
        await opened(it)
        await it.sees("event 17", "17.1")
        await it.pilot.press("1")
        await it.until(lambda: "A> goto 17" in it.said)


async def test_the_text_is_folded_for_the_width_and_copied_whole() -> None:
    async with stand((120, 40)) as it:
        it.app.action_open("explain RNR_NAK")
        found = await opened(it)
        before = len(found._rows)
        await it.resize(50, 20)
        await it.until(lambda: len(found._rows) > before)
        assert max(row.cell_length for row in found._rows) <= 48
        await it.pilot.press("1")
        await it.until(lambda: it.app.clipboard == found.text)


BAD_KEY = "post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:5] remote_addr=0x1064 rkey=0xdead"


@pytest.mark.parametrize("line", ["why -v", "help use", "explain 1"])
async def test_a_page_is_folded_once(line: str) -> None:
    async with stand() as it:
        await it.say(f"{BAD_KEY} flags=SIGNALED", "run", line)
        found = await opened(it)
        for size in ((80, 24), (61, 20)):
            await it.resize(*size)
            await it.until(lambda: len(found._rows) > 1)
            texts = [row.plain for row in found._rows]
            assert not [text for text in texts if re.search(r"\[ev *\d*$", text)], texts
            starts = [text for text in texts[1:] if re.match(r"(?!fix|ruled out)[a-z]", text)]
            assert not starts, starts


async def test_the_prompt_is_folded_again_for_another_width() -> None:
    async with stand((120, 40)) as it:
        await it.say(f"{BAD_KEY} flags=SIGNALED", "run", "why -v")
        await it.until(lambda: "connect A.qp0" in it.said)
        for size in ((80, 24), (60, 15), (120, 40)):
            await it.resize(*size)
            await it.pilot.pause(0.1)
            texts = it.said.splitlines()
            answer = texts[texts.index("A> why -v") + 1 :]
            assert all(
                text.startswith(("  ", " 1. ", "fix: ", "ruled out: ")) for text in answer[1:]
            ), it.said
            assert max(map(len, answer)) <= size[0] - 2


LINES = ["answer cause rnr-infinite", "goto 3", "checklist", "explain RTS", "next", "show pd"]


@pytest.mark.parametrize("line", LINES)
async def test_a_line_typed_at_a_page_reaches_the_prompt_whole(line: str) -> None:
    async with stand() as it:
        await it.say(f"{WRITE} flags=SIGNALED", "run", "why -v")
        await opened(it)
        await it.pilot.press("pagedown", *line)
        await it.until(lambda: it.app.prompt.text == line)
        assert it.app.screen is it.app.main
        await it.press("enter")
        await it.until(lambda: f"A> {line}" in it.said)


async def test_q_closes_a_page_and_leaves_nothing_in_the_prompt() -> None:
    async with stand() as it:
        await it.say("help time")
        await opened(it)
        await it.sees("q closes")
        await it.pilot.press("q")
        await it.until(lambda: it.app.screen is it.app.main)
        await it.pilot.pause(0.5)
        await it.pilot.press("enter")
        await it.settled()
        assert it.app.is_running
        assert "A> q" not in it.said
        await it.pilot.press("f1")
        await opened(it)
        await it.pilot.press("q", *"show pd", "enter")
        await it.until(lambda: "A> show pd" in it.said)


async def test_q_of_a_page_over_a_pane_gives_the_keys_back_to_the_pane() -> None:
    async with stand() as it:
        await it.pane("wire")
        await it.pilot.press("f1")
        await opened(it)
        await it.pilot.press("q")
        await it.until(lambda: it.app.screen is it.app.main)
        assert it.focused == "wire"


async def test_q_closes_a_checklist() -> None:
    async with stand() as it:
        await it.say(f"{WRITE} flags=SIGNALED", "run", "checklist no-completion A.qp0.wr[7]")
        await it.until(lambda: isinstance(it.app.screen, Checklist))
        await it.pilot.press("q")
        await it.until(lambda: it.app.screen is it.app.main)
        assert it.app.prompt.text == ""


@pytest.mark.parametrize("line", ["query_qp A.qp0", "quit"])
async def test_a_line_that_begins_with_q_reaches_the_prompt_whole(line: str) -> None:
    async with stand() as it:
        await it.say("help time")
        await opened(it)
        typed_by_a_hand(it, line)
        await it.until(lambda: it.app.prompt.text == line)
        await it.press("ctrl+c")
        await it.pane("wire")
        await it.pilot.press("f1")
        await opened(it)
        typed_by_a_hand(it, line)
        await it.until(lambda: it.app.prompt.text == line)


def typed_by_a_hand(it: Stand, line: str) -> None:
    """Keys as fast as a hand, on a machine of any speed."""
    for number, key in enumerate(line):
        event = events.Key("space" if key == " " else _character_to_key(key), key)
        event.time += 0.15 * number
        it.app.post_message(event)


async def test_a_line_typed_at_a_page_of_a_pane_is_sent() -> None:
    async with stand((120, 40)) as it:
        await it.pane("log")
        await it.pilot.press("end", "enter")
        await opened(it)
        await it.pilot.press("s")
        await it.pilot.pause(0.05)
        await it.pilot.press(*"how", "space", *"mr", "enter")
        await it.until(lambda: "A> show mr" in it.said)
        assert it.focused == "prompt"


async def test_a_text_pasted_at_a_page_goes_to_the_prompt() -> None:
    async with stand() as it:
        await it.say("help all")
        await opened(it)
        it.app.post_message(events.Paste("show pd"))
        await it.until(lambda: it.app.prompt.text == "show pd")


async def test_a_click_on_an_event_in_the_prompt_opens_it() -> None:
    async with stand() as it:
        await it.say("step")
        await it.say("back 3")
        row = next(at for at, text in enumerate(it.grid) if at > 16 and "ev 1" in text)
        await it.pilot.click(offset=(it.grid[row].index("ev 1") + 1, row))
        assert (await opened(it)).heading.startswith("event 1")


async def test_a_page_that_is_left_at_once_does_no_harm() -> None:
    async with stand() as it:
        for _ in range(5):
            await it.app.push_screen(Page("x", [[("", "a line")]] * 50))
            it.app.screen.dismiss()
            await it.resize(*((100, 30) if it.app.size.width == 80 else (80, 24)))
            await it.pilot.pause()
        await it.say("show pd")
        await it.sees("A.pd0")


async def test_a_checklist_that_is_typed_is_a_list_and_letters_leave_it() -> None:
    async with stand() as it:
        await it.say("checklist no-completion A.qp0.wr[1]")
        await it.until(lambda: isinstance(it.app.screen, Checklist))
        await it.pilot.press(*"explain RTS")
        await it.until(lambda: it.app.prompt.text == "explain RTS")


async def test_a_page_of_why_has_the_whole_fix() -> None:
    async with stand() as it:
        await it.say(f"{WRITE} flags=SIGNALED", "run", "why")
        assert "more: why -v" in it.said
        await opened(it)
        await it.sees("  modify_qp B.qp0 state=RESET", "  post_send A.qp0 wr_id=7")


async def test_no_row_of_a_page_is_folded_that_fits_the_prompt() -> None:
    async with stand() as it:
        await it.say("lessons rnr")
        found = await opened(it)
        assert len(found._rows) == len(it.app.main.answer)


async def test_a_page_covers_the_end_of_its_answer_in_a_small_terminal() -> None:
    async with stand() as it:
        await it.say(f"{WRITE} flags=SIGNALED", "run", "why")
        await opened(it)
        assert it.text.count("causes ruled out") == 1


async def test_no_key_of_a_line_that_is_typed_at_once_over_a_page_is_lost() -> None:
    async with stand((120, 40)) as it:
        await it.say("lessons rnr")
        await opened(it)
        for letter in "alloc_pd A.pd7":
            it.app.post_message(events.Key("space" if letter == " " else letter, letter))
        it.app.post_message(events.Key("enter", "\r"))
        await it.until(lambda: "A> alloc_pd A.pd7" in it.said)
        await it.until(lambda: "A.pd7 created" in it.said or "ok [ev" in it.said)


@pytest.mark.parametrize("way", ["escape", "enter", "click"])
async def test_no_key_of_a_line_is_lost_that_comes_at_once_after_a_page_is_left(way: str) -> None:
    async with stand((120, 40)) as it:
        await it.say("lessons rnr")
        page = await opened(it)
        page.call_next(asyncio.sleep, 0.05)  # it is being laid out, say
        line = "show qp A.qp0 sg=[0:64]"
        if way == "click":
            page._forward_event(events.Click(page, 0, 0, 0, 0, 1, False, False, False))
        else:
            it.app.post_message(events.Key(way, None))
        for letter in line:
            it.app.post_message(events.Key(_character_to_key(letter), letter))
        await it.until(lambda: it.app.prompt.text == line)


@pytest.mark.parametrize("keys", [["escape", "s"], ["escape", "escape"], ["q", "q"], ["q", "s"]])
async def test_a_page_that_is_left_twice_at_once_closes_once(keys: list[str]) -> None:
    await left(Page("x", [[("", "a line")]] * 50), keys)


@pytest.mark.parametrize("screen", [Lessons, partial(Ask, "Find"), Palette, Presenter])
async def test_a_list_a_search_the_palette_or_a_lecture_that_is_left_twice_at_once_closes_once(
    screen: Callable[[], Cover[Any]],
) -> None:
    await left(screen(), ["escape", "escape"])


@pytest.mark.parametrize("key", ["escape", "q"])
async def test_a_key_of_a_page_that_another_covers_by_now_closes_both(key: str) -> None:
    async with stand((120, 40)) as it:
        it.app.main.focus_next()
        pages = [Page(name, [[("", "a line")]] * 50) for name in "xy"]
        for each in pages:
            await it.app.push_screen(each)
        await (
            pages[0].action_dismiss()
            if key == "escape"
            else pages[0].on_event(events.Key("q", "q"))
        )
        await it.until(lambda: it.app.screen is it.app.main)
        await it.say("show pd")
        await it.sees("A.pd0")


async def left(screen: Cover[Any], keys: list[str]) -> None:
    async with stand((120, 40)) as it:
        await it.say("show pd")
        it.app.main.focus_next()
        await it.app.push_screen(screen)
        for key in keys:
            it.app.post_message(events.Key(key, key if len(key) == 1 else None))
        await it.until(lambda: it.app.screen is it.app.main and not screen.is_running)
        await it.pilot.press("escape")
        await it.until(lambda: it.focused == "prompt")
        await it.press("ctrl+u")
        await it.say("show cq")
        await it.sees("A.cq0")


async def test_no_page_opens_over_keys_that_the_prompt_has_not_read() -> None:
    async with stand() as it:
        await it.say("alloc_pd A.pd6")
        main = it.app.main
        it.type("alloc_pd A.pd7")
        main._unless_typed(main._printed, partial(main._open, Page("answer", [])))
        await it.until(lambda: not main.prompt.message_queue_size)
        await it.pilot.press("enter")
        await it.until(lambda: "A> alloc_pd A.pd7" in it.said)
        assert it.app.screen is main


async def test_two_answers_that_wait_for_the_prompt_do_not_wait_for_each_other() -> None:
    async with stand() as it:
        await it.say("show pd")
        main, shown = it.app.main, list[str]()
        for printed, name in (([], "older"), (main._printed, "newer"), ([], "older")):
            main.prompt.call_later(main._unless_typed, printed, partial(shown.append, name))
        await it.until(lambda: bool(shown))
        assert shown == ["newer"]


async def test_a_letter_typed_at_once_after_esc_is_not_lost() -> None:
    async with stand() as it:
        await it.say("help")
        await it.sees("letters go to the prompt")
        it.app.screen.post_message(events.Key("alt+e", "e"))  # of Esc and e, as Textual reads them
        await it.press("x", "p")
        await it.until(lambda: it.app.prompt.text == "exp")


@pytest.mark.parametrize(
    ("typed", "title"),
    [("why  A.qp0", "why A.qp0"), ("new\nuse rc_pair\nrun", "new … 3 lines"), ("", "answer")],
)
def test_title_of_an_answer_is_its_line_or_the_number_of_lines(typed: str, title: str) -> None:
    assert answer_page(typed, [], None, 24).heading == title


async def test_the_digits_of_why_stay_where_a_key_is_missing() -> None:
    async with stand() as it:
        await it.say("fault drop A->B", f"{WRITE} flags=SIGNALED", "step 3", "why")
        await opened(it)
        await it.sees("1 Go to event", "3 Checklist", "4 Explain", "5 Copy")
        assert "2 Apply" not in it.text
