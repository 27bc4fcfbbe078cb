"""The animated picture: at each moment it shows what the frame of that moment shows."""

import asyncio
import re
from itertools import accumulate
from xml.etree import ElementTree as ET

import pytest

from tests.animation import ACTS, FILE, Act, Frame, frames, joined

SVG = "{http://www.w3.org/2000/svg}"
_STEP = re.compile(r"([\d.]+)%\{visibility:(\w+)\}")


@pytest.fixture(scope="module")
def shown() -> list[Frame]:
    async def all_of_them() -> list[Frame]:
        acts = (Act(pause_s=1), Act("post_send A.qp0 opcode=SEND", pause_s=0.5), Act(key="f8"))
        return [frame async for frame in frames(acts)]

    return asyncio.run(all_of_them())


def texts_of(svg: str) -> list[tuple[str | None, str | None, str]]:
    """(x, y, text) of each text of a frame that is not blank."""
    root = ET.fromstring(svg)
    found = [(e.get("x"), e.get("y"), e.text or "") for e in root.iter(f"{SVG}text")]
    return sorted(each for each in found if each[2].strip())


def texts_at(picture: str, percent: float) -> list[tuple[str | None, str | None, str]]:
    """(x, y, text) of each text that is visible at this moment of the animation."""
    steps = {
        name: [(float(at), state) for at, state in _STEP.findall(body)]
        for name, body in re.findall(r"@keyframes (t\d+)\{((?:[\d.]+%\{[^}]*\})*)\}", picture)
    }
    root = ET.fromstring(picture)
    found = []
    for element in root.iter(f"{SVG}text"):
        names = [name for name in (element.get("class") or "").split() if name in steps]
        states = [[state for at, state in steps[name] if at <= percent][-1] for name in names]
        if "hidden" not in states:
            found.append((element.get("x"), element.get("y"), element.text or ""))
    return sorted(each for each in found if each[2].strip())


def test_each_moment_shows_its_frame(shown: list[Frame]) -> None:
    picture = joined(shown)
    whole = sum(frame.lasts_s for frame in shown)
    assert len(shown) >= 6
    for end, frame in zip(accumulate(f.lasts_s for f in shown), shown, strict=True):
        assert texts_at(picture, 100 * (end - frame.lasts_s / 2) / whole) == texts_of(frame.svg)


def test_it_is_small_and_needs_nothing_from_elsewhere(shown: list[Frame]) -> None:
    picture = joined(shown)
    assert len(picture) < sum(len(frame.svg) for frame in shown) / 2
    assert not re.search(r"url\(|href|<script|@import", picture)
    assert re.findall(r"https?://[^\"]*", picture) == ["http://www.w3.org/2000/svg"]
    last = picture.partition("prefers-reduced-motion")[2]
    assert "animation:none;visibility:visible" in last
    assert joined(shown) == picture


def test_the_picture_of_readme_ends_as_the_app_does() -> None:
    """If it does not: `python -m tests.animation`, and look at it."""

    async def last() -> Frame:
        return [frame async for frame in frames(ACTS)][-1]

    end = texts_of(asyncio.run(last()).svg)
    assert any("SUCCESS" in text for _, _, text in end)
    assert texts_at(FILE.read_text(), 99.9) == end
