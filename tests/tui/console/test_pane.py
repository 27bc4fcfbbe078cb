"""The console as a person meets it."""

import asyncio

import pytest
from prompt_toolkit.data_structures import Point
from prompt_toolkit.mouse_events import MouseButton, MouseEventType
from textual import events
from textual.geometry import Offset

from rdmalab.tui.console.pane import Console
from tests.tui.console.bench import Bench, bench


async def test_a_typed_line_is_echoed_evaluated_and_answered() -> None:
    async with bench() as it:
        await it.pilot.press(*"hi", "enter")
        await it.hears("hi")
        await it.sees("A> hi", "heard 1 line(s)")
        await it.until(lambda: it.rows()[-1] == " F6 pane")


async def test_the_menu_shows_in_four_rows_and_tab_takes_from_it() -> None:
    async with bench() as it:
        assert it.console.scrollable_content_region.height == 4
        it.type("post")
        await it.sees("post_recv", "post_send", "F6 pane")
        it.press("tab")  # what all have in common
        await it.prompt("post_")
        await it.sees("post_recv")
        for line in ("post_recv", "post_send"):
            it.press("tab")
            await it.prompt(line)
        it.press("enter")
        await it.hears("post_send")


async def test_a_first_tab_takes_nothing_from_a_menu_without_a_common_part() -> None:
    async with bench() as it:
        it.press("tab")
        await it.sees("poll_cq", "post_recv")
        await it.prompt("")
        it.press("tab")
        await it.prompt("poll_cq")


async def test_a_tab_takes_the_only_row_of_a_menu() -> None:
    async with bench() as it:
        it.type("pol")
        await it.sees("poll_cq")
        it.press("tab")
        await it.prompt("poll_cq")


async def test_a_completion_is_picked_with_the_mouse() -> None:
    async with bench() as it:
        it.type("post")
        await it.sees("post_send")
        y, row = next((y, row) for y, row in enumerate(it.rows()) if row.strip() == "post_send")
        border = 1
        await it.pilot.click(Console, offset=(row.index("post_send") + border, y + border))
        await it.prompt("post_send")


async def test_history_up_and_search() -> None:
    async with bench("step 1", "poll_cq 7") as it:
        # History is read by a task; until it is there, Up has nothing to show.
        await it.until(lambda: len(it.console.live.session.history.get_strings()) == 2)
        await it.until(lambda: _recalls(it, "up", "poll_cq 7"))
        it.press("up")
        await it.prompt("step 1")
        it.press("ctrl+c")
        await it.prompt("")
        it.press("ctrl+r")
        await it.sees("(reverse-i-search)")
        it.type("oll")
        await it.sees("`oll': poll_cq 7")
        it.press("enter")
        await it.prompt("poll_cq 7")
        it.press("enter")
        await it.hears("poll_cq 7")


def _recalls(it: Bench, key: str, text: str) -> bool:
    if it.console.live.session.default_buffer.text != text:
        it.press(key)
    return it.console.live.session.default_buffer.text == text


async def test_a_suggestion_from_history_is_taken() -> None:
    async with bench("step 12345") as it:
        it.type("ste")
        await it.prompt("step 12345")
        it.press("ctrl+e")
        it.press("enter")
        await it.hears("step 12345")


async def test_a_paste_keeps_its_lines_and_runs_nothing() -> None:
    async with bench() as it:
        it.console.post_message(events.Paste("one\r\ntwo\rthree"))
        await it.sees("A> one", "... two", "... three")
        assert it.app.heard == []
        it.press("enter")
        await it.hears("one\ntwo\nthree")
        await it.sees("heard 3 line(s)")


async def test_an_open_brace_continues_on_the_next_line() -> None:
    async with bench() as it:
        it.type("a {")
        it.press("enter")
        await it.sees("...")
        it.type("}")
        it.press("enter")
        await it.hears("a {\n}")


async def test_ctrl_c_clears_the_line_and_never_leaves() -> None:
    async with bench() as it:
        it.type("xyz")
        await it.prompt("xyz")
        it.press("ctrl+c")
        await it.sees("A> xyz", "^C")
        it.press("ctrl+c")
        await it.sees("^D on an empty line exits")
        assert not it.app.closed
        it.press("ctrl+d")
        await it.until(lambda: it.app.closed)


async def test_ctrl_c_interrupts_a_line_that_is_being_evaluated() -> None:
    async with bench() as it:
        it.type("forever")
        it.press("enter")
        await it.until(lambda: it.console.busy)
        it.type("typed ahead")
        it.press("ctrl+c")
        await it.sees("heard 1 line(s)")
        await it.prompt("typed ahead")


async def test_evaluating_false_closes() -> None:
    async with bench() as it:
        it.type("quit")
        it.press("enter")
        await it.until(lambda: it.app.closed)


async def test_the_keys_of_the_application_pass_and_say_a_sentence() -> None:
    async with bench() as it:
        it.type("draft")
        await it.prompt("draft")
        await it.pilot.press("f8")
        await it.hears("step")
        await it.prompt("draft")
        assert list(it.console.live.session.history.get_strings()) == []
        await it.pilot.press("f6")
        await it.until(lambda: not it.console.has_focus)


async def test_a_sentence_waits_for_the_line_that_is_being_evaluated() -> None:
    async with bench() as it:
        it.type("forever")
        it.press("enter")
        await it.until(lambda: it.console.busy)
        it.console.say("step")
        it.console.say("step")
        it.app.interrupted.set()
        await it.hears("forever", "step", "step")


async def test_what_a_key_means_is_decided_when_its_turn_has_come() -> None:
    async with bench() as it:
        it.type("forever")
        it.press("enter")
        await it.until(lambda: it.console.busy)
        meaning = ["step"]
        it.console.say(lambda: meaning[0])
        meaning[0] = "next"  # as after a `load`
        it.app.interrupted.set()
        await it.hears("forever", "next")


async def test_the_rows_of_the_menu_are_given_back_when_a_sentence_ends_the_line() -> None:
    async with bench() as it:
        it.type("post")
        await it.sees("post_recv")
        it.console.say("step")
        await it.hears("step")
        await it.prompt("post")
        await it.until(lambda: not it.console.live.menu_met)
        assert it.console.live._menu_space() == 0


async def test_a_sentence_does_not_overtake_a_line_that_was_sent_before_it() -> None:
    async with bench() as it:
        it.type("forever")
        it.press("enter")
        await it.until(lambda: it.console.busy)
        it.type("typed")
        it.press("enter")
        it.console.say("step")
        it.type("draft")
        await it.until(lambda: it.console.live.typed_ahead == "typed⏎ step⏎ draft")
        it.app.interrupted.set()
        await it.hears("forever", "typed", "step")
        await it.prompt("draft")


async def test_a_letter_after_esc_is_a_letter_and_alt_is_alt() -> None:
    async with bench() as it:
        it.press("escape")
        it.type("load x")
        await it.prompt("load x")
        it.press("alt+b")
        it.type("y ")
        await it.prompt("load y x")


async def test_a_click_at_a_menu_that_has_just_closed_does_nothing() -> None:
    async with bench() as it:
        it.type("post")
        await it.sees("post_send")
        live = it.console.live
        live.session.default_buffer.complete_state = None
        y, row = next((y, row) for y, row in enumerate(it.rows()) if row.strip() == "post_send")
        live.mouse(Point(row.index("post"), y), MouseEventType.MOUSE_UP, MouseButton.LEFT)
        await it.prompt("post")


async def test_esc_closes_the_menu() -> None:
    async with bench() as it:
        it.type("post")
        await it.sees("post_send")
        it.press("escape")
        await it.until(lambda: not it.console.live.menu_is_open)
        await it.prompt("post")


async def test_the_cursor_is_painted_and_set_for_input_methods() -> None:
    async with bench() as it:
        it.type("ab")
        await it.prompt("ab")
        y = it.rows().index("A> ab")
        region = it.console.scrollable_content_region
        await it.until(lambda: it.app.cursor_position == region.offset + Offset(5, y))
        assert any(s.style and s.style.reverse for s in it.console.render_line(y))
        await it.pilot.press("f6")
        await it.until(
            lambda: not any(s.style and s.style.reverse for s in it.console.render_line(y))
        )


async def test_selected_text_is_copied_by_ctrl_c() -> None:
    async with bench() as it:
        it.console.write([("", "copy me")])
        await it.sees("copy me")
        y = it.rows().index("copy me") + 1
        await it.pilot.mouse_down(Console, offset=(1, y))
        await it.pilot.hover(Console, offset=(8, y))
        await it.pilot.mouse_up(Console, offset=(8, y))
        await it.until(lambda: it.app.screen.get_selected_text() == "copy me")
        await it.pilot.press("ctrl+c")
        await it.until(lambda: it.app.clipboard == "copy me")


async def test_no_color_leaves_only_bold_underline_and_reverse(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with bench("post_send 1") as it:
        it.console.write([("ansired bold", "danger")])
        it.type("post")
        await it.sees("post_recv")
        styles = [s.style for y in range(4) for s in it.console.render_line(y) if s.style]
        assert any(style.bold for style in styles)
        assert not any(style.color or style.bgcolor or style.italic for style in styles)


async def test_a_fault_in_painting_reaches_textual(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    async def paint() -> None:
        async with bench() as it:
            monkeypatch.setattr(it.console.live.paint, "row", broken)
            it.type("x")
            await it.until(lambda: it.app.return_code is not None)

    with pytest.raises(ZeroDivisionError):
        await paint()


async def test_no_menu_covers_a_pasted_text_and_the_next_key_brings_it() -> None:
    async with bench() as it:
        it.console.post_message(events.Paste("post_recv\nstep\npo"))
        await it.sees("A> post_recv", "step", "po")
        await asyncio.sleep(0.2)
        assert not it.console.live.menu_is_open
        it.type("l")
        await it.until(lambda: it.console.live.menu_is_open)
