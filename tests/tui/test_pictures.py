"""Pictures of the screen. After a change that is meant: RDMALAB_PICTURES=1; look at each SVG."""

import os
import re
from pathlib import Path

import pytest

from rdmalab.workbench import settings
from tests.tui.stand import stand

FOLDER = Path(__file__).parent / "pictures"
WRITE = (
    "post_send A.qp0 opcode=RDMA_WRITE wr_id=7 sg=A.mr0[0:5] remote_addr=0x1064 rkey=0xdead "
    "flags=SIGNALED"
)
SHOTS = {
    "failed-80x24-dark": ((80, 24), (WRITE, "run"), "REM_ACCESS_ERR"),
    "failed-120x40-light": ((120, 40), (WRITE, "run", "why"), "fix  tested"),
    "lesson-80x24-contrast": ((80, 24), ("load err/rnr-retry-exceeded", "next"), "RNR wait"),
    "failed-200x60-dark": ((200, 60), (WRITE, "run"), "ruled out"),
}
"""Size, lines typed, and what is drawn last."""
_UNIQUE = re.compile(r"terminal-\d+")


@pytest.mark.parametrize("name", SHOTS)
async def test_the_screen_looks_as_it_did(name: str) -> None:
    size, lines, last = SHOTS[name]
    async with stand(size) as it:
        settings.write("theme", name.rpartition("-")[2])
        it.app._settings_changed()
        await it.say(*lines)
        await it.sees(last)
        drawn, same = "", 0
        while same < 60:  # nothing has changed for a while
            await it.pilot.pause(0.02)
            before, drawn = drawn, it.app.export_screenshot(title=name)
            same = same + 1 if drawn == before else 0
    drawn = _UNIQUE.sub("terminal", drawn)
    stored = FOLDER / f"{name}.svg"
    if os.environ.get("RDMALAB_PICTURES"):
        stored.parent.mkdir(exist_ok=True)
        stored.write_text(drawn)
    assert drawn == stored.read_text()
