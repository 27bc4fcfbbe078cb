"""`rdmalab book` counts its pages while it makes them: on a terminal, and nowhere else."""

import subprocess
import sys
from pathlib import Path

from tests.terminal import Terminal

BOOK = [sys.executable, "-m", "rdmalab", "book", "--jobs", "1"]


def test_pages_are_counted_on_a_terminal(tmp_path: Path) -> None:
    with Terminal([*BOOK, str(tmp_path / "book"), "time", "labs"]) as terminal:
        terminal.wait_for("lessons, labs and sheets, ")
        assert terminal.wait_exit() == 0
        assert b" s left" in terminal.raw
        assert "lessons, labs and sheets," not in "".join(terminal.screen())


def test_nothing_is_counted_elsewhere(tmp_path: Path) -> None:
    done = subprocess.run(
        [*BOOK, str(tmp_path / "book"), "time"], capture_output=True, text=True, check=True
    )
    assert done.stdout == ""
    assert done.stderr.startswith("lessons and labs: ")
    assert done.stderr.count("\n") == 1
