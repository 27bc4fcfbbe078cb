"""Programs of the host under the screen: ^C and F9 hold their world, F9 lets it run."""

from tests.tui.stand import stand


class Running:
    """Programs that never end and print nothing."""

    is_over = False
    is_served = True
    is_held = False

    def hold(self, *, is_held: bool) -> None:
        self.is_held = is_held

    def before_line(self) -> None:
        """Nothing: no program is interrupted here."""

    after_line = before_line


async def test_ctrl_c_holds_the_world_of_programs_and_f9_runs_it() -> None:
    async with stand() as it:
        programs = it.app.main.model.programs = Running()  # type: ignore[assignment]
        await it.press("ctrl+c")
        assert programs.is_held
        assert "held: F8 is one event, F9 runs the world" in it.said
        await it.press("f9")
        assert not programs.is_held
        await it.press(*"show", "ctrl+c")  # of a line it clears the line
        assert (programs.is_held, it.app.prompt.text) == (False, "")
        await it.press("ctrl+c")
        assert programs.is_held
