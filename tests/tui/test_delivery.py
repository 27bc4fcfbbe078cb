"""What leaves the app: one file, and what is said about it."""

import os
from pathlib import Path

import pytest

from rdmalab.tui.screen_requests import copied, written


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
