"""The command palette finds everything."""

import pytest
from textual.screen import Screen
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from rdmalab.tui.palette import Palette, offers
from rdmalab.tui.screens.lessons import Lessons
from tests.tui.stand import stand


async def test_each_kind_of_thing_is_found_and_has_a_help() -> None:
    async with stand() as it:
        found = {offer.text: offer for offer in offers(it.app)}
        for text in (
            "One step, or the next note of a lesson", "copy wire", "snapshot ladder", "A.qp0",
            "theme light", "load err/rnr-retry-exceeded", "post_send",
            "explain concept rnr",
        ):  # fmt: skip
            assert found[text].help, text
        assert "A SEND meets" in found["load err/rnr-retry-exceeded"].help


@pytest.mark.parametrize(
    ("typed", "done"),
    [
        ("light", "theme"),
        ("theme light", "theme"),
        ("show A.cq0", "A> show A.cq0"),
        ("post_recv", "A> post_recv"),
    ],
)
async def test_f2_finds_and_enter_does_it(typed: str, done: str) -> None:
    async with stand((120, 40)) as it:
        await it.pilot.press("f2")
        await it.pilot.press(*typed)
        await it.pilot.pause(0.3)
        await it.pilot.press("enter", "enter")
        if done == "theme":
            await it.until(lambda: it.app.theme == "rdmalab-light")
        else:
            await it.until(lambda: done in it.said or done in it.text)


async def test_what_is_offered_first_has_its_keys_in_a_column_and_says_what_else_is_found() -> None:
    async with stand((120, 40)) as it:
        await it.pilot.press("f2")
        await it.sees("a key, lesson, command, object, term or theme", "F8  step", "F9  run")
        columns = {row.index(key) for key in ("F8  step", "F9  run") for row in it.grid
                   if key in row}  # fmt: skip
        assert len(columns) == 1
        assert any("╭" in row and "╮" in row for row in it.grid)


async def test_each_hit_has_one_row_with_its_help() -> None:
    async with stand((120, 40)) as it:
        await it.pilot.press("f2", *"rnr-retry")
        await it.until(lambda: "A SEND meets an empty receive queue" in it.text)
        row = next(row for row in it.grid if "A SEND meets an empty receive queue" in row)
        assert "load err/rnr-retry-exceeded  A SEND" in row
        assert "🔎" not in it.text
        box = it.app.screen.query_one("CommandList")
        assert box.region.width <= 90
        assert abs(box.region.x - (120 - box.region.right)) <= 1


@pytest.mark.parametrize(
    ("screen", "action"), [(Palette, "command_list('page_down')"), (Lessons, "move('page_down')")]
)
async def test_a_page_key_before_the_list_is_laid_out_does_nothing(
    screen: type[Screen[None]], action: str
) -> None:
    async with stand() as it:
        await it.app.push_screen(over := screen())
        listed = over.query_one(OptionList)
        listed.clear_options()
        listed.add_option(Option("a row", id="err/rnr-retry-exceeded"))
        listed.highlighted = 0
        await over.run_action(action)
        assert it.app.screen is over
        await it.pilot.press("escape")
        await it.until(lambda: it.app.screen is it.app.main)


async def test_a_letter_that_is_read_after_the_palette_was_closed_does_nothing() -> None:
    async with stand() as it:
        await it.app.push_screen(palette := Palette())
        palette.dismiss()
        await it.until(lambda: not palette.is_running)
        palette._gather_commands("r")
        await it.say("show pd")
        await it.sees("A.pd0")
