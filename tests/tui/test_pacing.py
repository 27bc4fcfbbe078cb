"""A run is drawn now and then, and not more often than its frames allow."""

import asyncio
import time
from itertools import count
from types import SimpleNamespace

import pytest
import textual.timer

from rdmalab.tui import pacing
from rdmalab.tui.pacing import Pacing
from rdmalab.tui.screens.page import Page
from tests.tui.stand import stand


async def test_a_frame_is_drawn_when_it_is_due_and_not_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    frames: list[float] = []
    monkeypatch.setattr(pacing, "FRAME_S", 0.05)
    paced = Pacing(lambda: frames.append(time.monotonic()))
    await paced.pause()
    assert not frames
    await asyncio.sleep(0.06)
    end = time.process_time() + 0.02
    while time.process_time() < end:  # the run has used more of the processor than drawing
        pass
    await paced.pause()
    await paced.pause()
    assert len(frames) == 1


async def test_a_lesson_is_shown_although_the_process_is_held_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with stand((120, 40)) as it:
        held_up = map(float, count(step=60))  # seconds from one look of a timer to the next
        monkeypatch.setattr(textual.timer, "_time", SimpleNamespace(get_time=held_up.__next__))
        it.app.say("load err/rnr-retry-exceeded")
        await it.until(lambda: it.app.main.tab == "notes")


async def test_a_page_that_closes_takes_no_frame_along(monkeypatch: pytest.MonkeyPatch) -> None:
    async with stand((120, 40)) as it:
        main, page = it.app.main, Page("Anything", [[("", "a row")]])
        await it.app.push_screen(page)
        await it.pilot.pause(0.3)
        before = main.frames
        # Seen in Firefox: the page had the call of the frame, and was removed before its next idle.
        monkeypatch.setattr(page, "_invoke_later", lambda *_: None)
        main.frame_soon()
        await it.pilot.pause()
        page.leave()
        await it.until(lambda: main.frames > before)
