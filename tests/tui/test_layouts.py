"""A pane that gets another size fits it, also where Textual sends no Resize."""

import asyncio

from textual.containers import Container
from textual.widgets import Static

from tests.tui.console.bench import Bench, bench


async def resized_without_event(it: Bench, unseen: Static, rows: int) -> None:
    """Give the console another height in the one order in which Textual sends it no Resize.

    A line was printed and a widget without a place has asked to be drawn; the screen is busy, as on
    a loaded machine. The height changes. The frame is drawn before the screen reads that a layout
    is needed, and drawing it computes all places: the layout after it finds none that differs.
    """
    screen = it.app.screen
    drawn, goes_on = asyncio.Event(), asyncio.Event()
    it.console.write([("", "one more")])
    screen.call_after_refresh(drawn.set)
    await drawn.wait()
    it.console.write([("", "one more")])
    unseen.refresh()
    for _ in range(10):  # the screen reads that; it draws 1/60 s after the last frame
        await asyncio.sleep(0)
    screen.call_later(goes_on.wait)
    it.console.styles.height = rows
    await asyncio.sleep(0.05)
    goes_on.set()
    await it.until(lambda: it.console.outer_size.height == rows)


async def test_the_end_stays_in_view_when_no_resize_arrives() -> None:
    async with bench(size=(80, 40)) as it:
        it.type("lines 40")
        it.press("enter")
        await it.sees("line 39")
        it.type("x")
        it.console.styles.height = 16
        await it.until(lambda: it.console.live.output.size.rows == 14)
        unseen = Static()
        hidden = Container(unseen)
        hidden.display = False
        await it.app.screen.mount(hidden)
        for rows in (6, 16) * 10:
            await resized_without_event(it, unseen, rows)
            await it.prompt("x")
            await it.until(lambda: it.console.live.output.size.rows == len(it.rows()))
