"""The prompt in its frame."""

from tests.tui.stand import stand


async def test_the_lower_border_says_what_the_cursor_is_at() -> None:
    async with stand((120, 40)) as it:
        assert "Enter repeats" not in it.text  # there is nothing yet that it could
        await it.say("step")
        await it.sees("Enter repeats: step")
        it.type("modify_qp A.qp0 ")
        await it.until(lambda: "═ modify_qp" in it.text or "qp_state" in it.grid[-2])
        assert it.grid[-2].startswith("╚═ ")


async def test_a_frame_too_small_gives_way_to_the_prompt() -> None:
    async with stand((30, 4)) as it:
        assert it.app.repl.is_bare
        assert any(row.startswith("A>") for row in it.grid)


async def test_what_is_hidden_above_is_counted_with_the_key_to_it() -> None:
    async with stand() as it:
        await it.say("help")
        above = int(it.app.console_pane.scroll_y)
        await it.sees(f"REPL  PgUp: {above} above")
        await it.pilot.press("pageup")
        await it.until(lambda: f"PgUp: {above} above" not in it.text)


async def test_reading_back_is_said() -> None:
    async with stand() as it:
        await it.say("help")
        await it.pilot.press("pageup")
        await it.sees("reading back")
        it.type("s")
        await it.until(lambda: "reading back" not in it.text)
