"""Make the animated picture of README: `python -m tests.animation [FILE]`.

The app is driven as a person would drive it, and each state of the screen is a frame. The frames
are joined into one SVG: a piece of text or ground that several frames have stands in the file once,
with the times at which it is seen. No script, no font and no network is needed to show it; where
the reader has asked for less motion, the last frame stands still. The same program makes the same
bytes.
"""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rdmalab.tui.launch import launched
from rdmalab.workbench import settings
from tests.screenshots import TARGET, settled, without_number

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Sequence

FILE = TARGET / "failed-write.svg"
SIZE = 100, 30
_TYPED_AT_ONCE = 7  # characters of a frame while a line is typed
_TYPING_S = 0.12
_STILL_S = 0.15

WRITE = "post_send A.qp0 wr_id=7 opcode=RDMA_WRITE sg=A.mr0[0:5] remote_addr=0x1064 rkey=0xdead"


class Act(NamedTuple):
    """A line that is typed and sent, or a key; then a pause (s)."""

    line: str = ""
    key: str = ""
    pause_s: float = 1.0


ACTS = (
    Act(pause_s=1.5),
    Act(f"{WRITE} flags=SIGNALED", pause_s=1.0),
    *(Act(key="f8", pause_s=1.1) for _ in range(4)),
    Act("why", pause_s=4.5),
    Act("apply", pause_s=2.0),
    Act("run", pause_s=4.0),
)


class Frame(NamedTuple):
    """A screen as SVG, and how long it is shown (s)."""

    svg: str
    lasts_s: float


async def frames(acts: Iterable[Act]) -> AsyncIterator[Frame]:
    """What is on the screen while these things are done."""
    settings.choose("theme", "dark")
    app = launched()
    async with app.run_test(size=SIZE) as pilot:
        app.animation_level = "none"

        async def shown(lasts_s: float) -> Frame:
            """The screen as soon as it stays as it is."""
            before = ""
            await settled(app, pilot)
            while before != (now := without_number(app.export_screenshot(title="rdmalab"))):
                before = now
                await pilot.pause(_STILL_S)
            return Frame(now, lasts_s)

        for act in acts:
            for start in range(0, len(act.line), _TYPED_AT_ONCE):
                await pilot.press(*act.line[start : start + _TYPED_AT_ONCE])
                yield await shown(_TYPING_S)
            if act.key or act.line:
                await pilot.press(act.key or "enter")
            yield await shown(act.pause_s)


# --------------------------------------------------------------------------- joining
_STYLE = re.compile(r"\.terminal-(r\d+) \{ ([^}]*?);? *\}")
_GROUND = re.compile(r'<rect fill="[^"]*" x="[^"]*" y="[^"]*"[^>]*/>')
_TEXT = re.compile(r'<text class="terminal-(r\d+)"[^>]*?>(?!(?:&#160;|\s)*</text>).*?</text>')
_VIEW = re.compile(r'viewBox="0 0 ([\d.]+) ([\d.]+)"')
_WINDOW = re.compile(
    r'(<rect fill="[^"]*" stroke="[^"]*".*?)<g transform="translate\(9, 41\)"', re.DOTALL
)
_Y = re.compile(r' y="([\d.]+)"')
_CLIP = re.compile(r' clip-path="[^"]*"')
_INSIDE = "translate(9, 41)"
_FONTS = "'Fira Code','DejaVu Sans Mono',Menlo,Consolas,monospace"


def joined(found: Sequence[Frame]) -> str:
    """One SVG of all frames."""
    grounds: dict[str, list[int]] = {}
    texts: dict[str, list[int]] = {}
    looks: dict[str, str] = {}
    for number, frame in enumerate(found):
        styles = dict(_STYLE.findall(frame.svg))
        for piece in _GROUND.findall(frame.svg.partition(_INSIDE)[2]):
            grounds.setdefault(piece, []).append(number)
        for match in _TEXT.finditer(frame.svg):
            tone = looks.setdefault(styles[match[1]], f"s{len(looks)}")
            piece = _CLIP.sub("", match[0]).replace(f'"terminal-{match[1]}"', f'"{tone}"', 1)
            texts.setdefault(piece, []).append(number)
    times = _Times([frame.lasts_s for frame in found])
    below = sorted(grounds.items(), key=lambda ground: _height(ground[0]))
    drawn = [times.piece(piece, seen) for piece, seen in (*below, *texts.items())]
    view, window = _VIEW.search(found[0].svg), _WINDOW.search(found[0].svg)
    assert view is not None
    assert window is not None
    rules = [f".{name}{{{style}}}" for style, name in looks.items()]
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {view[1]} {view[2]}" '
        f'width="{view[1]}" height="{view[2]}" role="img">',
        "<title>rdmalab: a WRITE with a wrong rkey, and why it failed</title>",
        f"<style>text{{font:20px {_FONTS};font-variant-ligatures:none;white-space:pre}}",
        *rules, *times.rules(), "</style>",
        window[1].strip(),
        f'<g transform="{_INSIDE}">', *drawn, "</g>", "</svg>", "",
    ])  # fmt: skip


def _height(ground: str) -> float:
    found = _Y.search(ground)
    assert found is not None
    return float(found[1])


class _Times:
    """When pieces are seen, as rules of CSS: one for each set of frames."""

    def __init__(self, lasts_s: Sequence[float]) -> None:
        self.lasts_s = lasts_s
        self.whole_s = sum(lasts_s)
        self._names: dict[tuple[int, ...], str] = {}

    def piece(self, piece: str, seen: list[int]) -> str:
        """The element with the name of its times; without one if it is always seen."""
        if len(seen) == len(self.lasts_s):
            return piece
        name = self._names.setdefault(tuple(seen), f"t{len(self._names)}")
        if 'class="' in piece:
            return piece.replace('class="', f'class="{name} ', 1)
        return piece.replace("<rect ", f'<rect class="{name}" ', 1)

    def rules(self) -> list[str]:
        """The rules for all names."""
        found = [f'[class^="t"]{{animation:{self.whole_s:.2f}s step-end infinite}}']
        still = ""
        for seen, name in self._names.items():
            is_last = len(self.lasts_s) - 1 in seen
            found.append(f".{name}{{animation-name:{name}}}")
            found.append(f"@keyframes {name}{{{self._steps(seen)}}}")
            still += f".{name}{{animation:none;visibility:{'visible' if is_last else 'hidden'}}}"
        found.append(f"@media (prefers-reduced-motion:reduce){{{still}}}")
        return found

    def _steps(self, seen: tuple[int, ...]) -> str:
        steps, before, at_s = "", None, 0.0
        for number, lasts_s in enumerate(self.lasts_s):
            now = "visible" if number in seen else "hidden"
            if now != before:
                steps += f"{100 * at_s / self.whole_s:.3f}%{{visibility:{now}}}"
            before, at_s = now, at_s + lasts_s
        return steps


async def _all_frames() -> list[Frame]:
    return [frame async for frame in frames(ACTS)]


def main(arguments: list[str]) -> int:
    """Write the picture."""
    path = Path(arguments[0]) if arguments else FILE
    path.write_text(joined(asyncio.run(_all_frames())), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
