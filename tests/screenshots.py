"""Make the pictures in screenshots/ from scenarios: `python -m tests.screenshots [NAME…]`.

SVG is Textual's own export; PNG is what chromium draws of it, in Fira Code without ligatures, which
would turn 0x11 into 0×11. Nothing is fetched: the font must be installed (fonts-firacode).
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rdmalab.tui.launch import launched
from rdmalab.workbench import settings

if TYPE_CHECKING:
    from textual.pilot import Pilot

    from rdmalab.tui.app import Rdmalab
    from tests.page.lab_tab import ChromiumTab

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "screenshots"
WINDOWS, TABLET = ((1600, 1000), (1180, 760), (700, 520)), (820, 1180)  # pixels of a page
SIZES = ((80, 24), (120, 40), (200, 60))
_FONT_FACE = re.compile(r"@font-face\s*{[^}]*}", re.DOTALL)
_VIEW_BOX = re.compile(r'viewBox="0 0 ([\d.]+) ([\d.]+)"')
_LESSON = "err/rnr-retry-exceeded"
_HEAD = "<!doctype html><meta charset='utf-8'>"  # without it, chromium guesses the encoding
_SIDE_S = 0.7  # the pane of the tab in front comes half a second after the first frame
_UNIQUE = re.compile(r"terminal-\d+")


class Shot(NamedTuple):
    """path: a scenario, or the first screen. lines: what is said; keys: what is pressed then."""

    name: str
    path: str = ""
    lines: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()


_SEND = "post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED"
_WRITE = "post_send A.qp0 opcode=RDMA_WRITE"
SHOTS = (
    Shot("first-screen"),
    Shot(
        "tour",
        lines=(
            "tour again",
            "modify_qp A.qp0 state=INIT pkey_index=0 port_num=1 qp_access_flags=0",
            "modify_qp B.qp0 state=INIT pkey_index=0 port_num=1 qp_access_flags=0",
        ),
    ),
    Shot("rnr-nak", "scenarios/time/rnr-then-receive.rdmalab.yaml", ("next",)),
    Shot("shared-receives", "scenarios/srq/two-queue-pairs.rdmalab.yaml", ("next", "next", "next")),
    Shot(
        "branch-of-time",
        lines=(
            "checkpoint before-send",
            _SEND,
            "step 5",
            "goto @before-send",
            "post_recv B.qp0 wr_id=2 sg=B.mr0[0:64]",
            _SEND,
            "run",
            "back 2",
        ),
    ),
    Shot(
        "why",
        lines=(
            f"{_WRITE} wr_id=7 sg=A.mr0[0:5] remote_addr=0x1064 rkey=0xdead flags=SIGNALED",
            f"{_WRITE} wr_id=8 sg=A.mr0[8:16] remote=B.mr0[8] flags=SIGNALED",
            "run",
            "why A.qp0.wr[8]",
        ),
    ),
    Shot(
        "watch-and-rewind",
        lines=(
            f"{_WRITE} wr_id=2 sg=A.mr0[0:5] remote=B.mr0[100]",
            f"{_WRITE} wr_id=3 sg=A.mr0[64:128] remote=B.mr0[256] flags=SIGNALED",
            "run",
            "watch B.mr0[100:105]",
            "rewind",
        ),
    ),
)


async def picture(shot: Shot, size: tuple[int, int]) -> str:
    """The screen as SVG."""
    settings.choose("theme", "dark")
    app = launched(path=shot.path or None)  # as it is printed
    async with app.run_test(size=size) as pilot:
        await settled(app, pilot)
        for line in shot.lines:
            app.say(line)
            await settled(app, pilot)
        await pilot.press(*shot.keys)
        await pilot.pause(_SIDE_S)
        await settled(app, pilot)
        drawn = app.export_screenshot(title=f"rdmalab: {shot.name}")
    return without_number(drawn)


def without_number(svg: str) -> str:
    """The picture without the number that Textual gives each one."""
    return _UNIQUE.sub("terminal", svg)


async def settled(app: Rdmalab, pilot: Pilot[int]) -> None:
    """Nothing is evaluated and the prompt is there again."""
    for _ in range(400):
        await pilot.pause(0.01)
        if app.is_ready and not app.is_busy and app.prompt.live.cursor() is not None:
            break
    await pilot.pause(0.05)


def as_png(svg: Path, png: Path) -> None:
    """What chromium draws of it."""
    text = svg.read_text()
    found = _VIEW_BOX.search(text)
    assert found is not None, svg
    width, height = (int(float(side) + 1) for side in found.groups())
    text = _FONT_FACE.sub("", text)
    text = text.replace("<style>", "<style>text{font-variant-ligatures:none}", 1)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        page.write_text(f"{_HEAD}<body style='margin:0;background:#111'>{text}</body>")
        drawn(page, png, width, height)


def drawn(page: Path, png: Path, width: int, height: int) -> None:
    """What chromium draws of a page."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [
                *("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"),
                *("--disable-background-networking", "--disable-component-update"),
                *("--disable-sync", "--hide-scrollbars", f"--user-data-dir={folder}/profile"),
                *(f"--window-size={width},{height}", f"--screenshot={png}", page.as_uri()),
            ],
            stderr=subprocess.DEVNULL,
            check=True,
            timeout=120,
        )


def book() -> None:
    """A page of the book."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "rdmalab", "book", f"{folder}/book", _LESSON]
        subprocess.run(command, cwd=ROOT, check=True, stderr=subprocess.DEVNULL)
        page = Path(folder) / "book/lessons" / f"{_LESSON}.html"
        drawn(page, TARGET / "book.png", 1150, 1420)


def _rest(tab: ChromiumTab) -> None:
    """Wait until the line is carried out and nothing has changed for a while."""
    before, since = "", time.monotonic()
    while time.monotonic() < since + 2 * _SIDE_S:
        text = tab.text
        if text != before or tab.python(_IS_BUSY):
            before, since = text, time.monotonic()
        time.sleep(0.05)


_IS_BUSY = "main = process._app.main\nmain.prompt.busy or main._is_due or main.prompt.has_more"


def web_page() -> None:
    """The lab in a web page, dark and light, in windows of three sizes and on a tablet."""
    from rdmalab import cli
    from tests.page.conftest import SITE, downloads
    from tests.page.lab_tab import ChromiumTab
    from tests.page.serving import Site

    with tempfile.TemporaryDirectory() as folder:
        made = Path(os.environ.get(SITE, f"{folder}/site"))
        if SITE not in os.environ:
            cli.main(["site", str(made), "--downloads", downloads()])
        with Site(made) as site:
            tab = ChromiumTab(Path(folder) / "profile")
            try:
                for width, height in (*WINDOWS, TABLET):
                    tab.resize(width, height, touch=(width, height) == TABLET)
                    for is_dark in (True, False):
                        tab.dark(is_dark=is_dark)
                        tab.visit(f"{site.address}#scenario={_LESSON}", "empty receive queue")
                        for wanted in ("0.100 us", "answers"):
                            tab.say("next", wanted)
                        tab.say("why", "RNR_RETRY_EXC_ERR")
                        _rest(tab)
                        name = f"page-{width}x{height}-{'dark' if is_dark else 'light'}.png"
                        (TARGET / name).write_bytes(tab.picture())
            finally:
                tab.close()


def main(wanted: list[str]) -> int:
    TARGET.mkdir(exist_ok=True)
    os.chdir(ROOT)
    if shutil.which("chromium") and shutil.which("node") and (not wanted or "page" in wanted):
        web_page()
    if shutil.which("chromium") and (not wanted or "book" in wanted):
        book()
    for shot in SHOTS:
        if wanted and shot.name not in wanted:
            continue
        for columns, rows in SIZES:
            svg = TARGET / f"{shot.name}-{columns}x{rows}.svg"
            svg.write_text(asyncio.run(picture(shot, (columns, rows))))
            if shutil.which("chromium"):
                as_png(svg, svg.with_suffix(".png"))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
