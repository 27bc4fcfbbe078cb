"""A run is drawn now and then, and not more often than its frames allow."""

import asyncio
import time

import pytest

from rdmalab.tui import pacing
from rdmalab.tui.pacing import Pacing


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
