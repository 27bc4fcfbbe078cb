"""What leaves the app: one file, and what is said about it."""

import os
from pathlib import Path

import pytest

from rdmalab.tui.bars import Keys
from rdmalab.tui.launch import launched
from rdmalab.tui.screen_requests import copied, written
from tests.tui.stand import Stand, stand


def test_copy_reports_an_unwritable_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "state").write_text("")
    monkeypatch.setenv("RDMALAB_STATE", str(tmp_path / "state"))
    sent: list[str] = []
    assert "no file: " in copied("one\ntwo", sent.append)
    assert sent == ["one\ntwo"]


def test_a_png_is_made_by_another_program_or_the_svg_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    name = str(tmp_path / "x.png")
    assert "a PNG needs one of rsvg-convert" in written(name, "", "text", "<svg/>")
    program = tmp_path / "rsvg-convert"
    program.write_text('#!/bin/sh\nread -r all < "$3"; echo "$all" > "$2"\n')
    program.chmod(0o755)
    assert written(name, "", "text", "<svg/>") == f"written to {os.path.realpath(name)}"
    assert Path(name).read_text() == "<svg/>\n"


def test_a_picture_is_handed_out_as_svg(tmp_path: Path) -> None:
    handed: list[str] = []

    def hand_out(file: str) -> str:
        handed.append(file)
        return "downloaded"

    assert written(str(tmp_path / "x.png"), "", "text", "<svg/>", hand_out) == "downloaded"
    assert handed == [str(tmp_path / "x.svg")]
    assert written(str(tmp_path / "x.txt"), "", "text", "<svg/>", hand_out) == "downloaded"
    assert (tmp_path / "x.txt").read_text() == "text"


@pytest.mark.parametrize("pane", ["prompt", "wire"])
async def test_ctrl_c_copies_what_the_mouse_has_selected_and_says_so(pane: str) -> None:
    async with stand() as it:
        region = it.app.main.query_one(f"#{pane}").scrollable_content_region
        y = next(y for y in range(region.height) if it.grid[region.y + y][region.x :].strip())
        wanted = it.grid[region.y + y][region.x : region.right - 1].strip()
        first = it.grid[region.y + y].index(wanted, region.x) - region.x
        await it.pilot.mouse_down(offset=(region.x + first, region.y + y))
        await it.pilot.hover(offset=(region.x + first + len(wanted), region.y + y))
        await it.pilot.mouse_up(offset=(region.x + first + len(wanted), region.y + y))
        await it.until(lambda: bool(it.app.main.get_selected_text()))
        assert wanted in str(it.app.main.get_selected_text())
        await it.pilot.press("ctrl+c")
        await it.until(lambda: bool(it.app._notifications))
        said = next(iter(it.app._notifications)).message
        assert said.startswith("copied 1 line: sent to the terminal (OSC 52), and in ")
        assert wanted in it.app.clipboard


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_the_notice_of_a_copy_covers_the_keys_alone(size: tuple[int, int]) -> None:
    app = launched()
    async with app.run_test(size=size, notifications=True) as pilot:
        it = Stand(app, pilot)
        await it.until(lambda: app.is_ready)
        app.notify(f"copied 5 lines; kept in {'a/file' * 40}", timeout=40)
        await it.sees("copied 5 lines")
        (toast,) = app.screen.query("Toast")
        assert toast.region == app.screen.query_one(Keys).region
