"""What is seen of the transcript: its width, its end, its past and its limit."""

import pytest
from textual import events

from rdmalab.tui.console import pane
from tests.tui.console.bench import bench


async def test_a_resize_wraps_the_transcript_again() -> None:
    async with bench(size=(100, 24)) as it:
        it.console.write([("", "w" * 90)])
        await it.sees("w" * 90)
        await it.pilot.resize_terminal(60, 24)
        await it.until(lambda: "w" * 58 in it.rows() and "w" * 32 in it.rows())
        await it.pilot.resize_terminal(110, 30)
        await it.sees("w" * 90)
        it.type("still")
        await it.prompt("still")


@pytest.mark.parametrize("size", [(20, 8), (80, 3), (10, 4), (200, 60)])
async def test_every_size_has_a_prompt(size: tuple[int, int]) -> None:
    async with bench() as it:
        await it.pilot.resize_terminal(*size)
        it.console.styles.height = max(1, size[1] // 2)
        it.console.styles.border = ("none", "white")
        it.type("st")
        await it.sees("A> st")


async def test_the_transcript_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pane, "TRANSCRIPT_LINES_MAX", 20)
    async with bench() as it:
        it.type("lines 50")
        it.press("enter")
        await it.sees("line 49")
        it.console.scroll_home(animate=False, force=True, immediate=True)
        await it.until(lambda: it.rows()[0] == "line 30")


async def test_pages_turn_back_and_typing_returns() -> None:
    async with bench() as it:
        it.type("lines 40")
        it.press("enter")
        await it.sees("line 39")
        it.press("pageup", "shift+pageup")
        await it.until(lambda: "line 39" not in it.rows())
        there = it.rows()
        it.console.write([("", "news")])
        await it.pilot.pause()
        assert it.rows() == there
        it.type("x")
        await it.prompt("x")


async def test_the_wheel_scrolls() -> None:
    async with bench() as it:
        it.type("lines 60")
        it.press("enter")
        await it.sees("line 59")
        at_the_end = it.rows()

        def turned() -> bool:  # a first notch may come before the scrollbar that permits it
            it.console.post_message(
                events.MouseScrollUp(it.console, 3, 2, 0, -1, 0, False, False, False)
            )
            return it.rows() != at_the_end

        await it.until(turned)


async def test_reading_back_stays_in_place_while_old_lines_go(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pane, "TRANSCRIPT_LINES_MAX", 40)
    async with bench() as it:
        it.type("lines 60")
        it.press("enter")
        await it.sees("line 59")
        it.press("pageup", "pageup")
        await it.until(lambda: it.rows()[0] == "line 52")
        it.console.write([("", "one more")])
        await it.pilot.pause()
        assert it.rows()[0] == "line 52"


async def test_ctrl_l_clears_the_transcript() -> None:
    async with bench() as it:
        it.console.write([("", "old news")])
        await it.sees("old news")
        it.press("ctrl+l")
        await it.until(lambda: it.rows()[0] == "A>")
