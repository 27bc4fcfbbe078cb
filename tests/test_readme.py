"""The README tells the truth: its files exist, its blocks do and print what it says."""

import re
from pathlib import Path

import pytest

from rdmalab.guide.manual import parts_of
from rdmalab.tui.app_model import FIRST
from tests.blocks import ROOT, Reader, check, supply

PATH = ROOT / "README.md"
README = PATH.read_text("utf-8")
LONGEST = 125  # rows: it is one page


def test_files_it_names_exist() -> None:
    named = re.findall(r"\b(?:screenshots|scenarios|rdmalab/[a-z]+|tests)/[\w./-]+\.\w+", README)
    named += re.findall(r"\]\(([\w./-]+)\)", README)
    assert len(named) >= 4
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_command_of_the_start_is_known_to_all_later_lines() -> None:
    start = re.search(r"^ {4}(python3 -m venv .*)$", README, re.MULTILINE)
    assert start is not None
    assert ". .venv/bin/activate && pip install --quiet . && rdmalab" in start[1]
    assert not re.search(r"\.venv/bin/rdmalab", README)


def test_it_is_one_page() -> None:
    assert len(README.splitlines()) <= LONGEST


def test_its_blocks_do_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    supply(tmp_path)
    reader = Reader(*FIRST)
    reader.read(parts_of(README))
    check(PATH, reader)
    assert reader.done == README.count("\n```") // 2
    assert reader.prompt.lab.look("A.qp0.state == ERR")
    assert reader.prompt.lab.look("A.cq0.last.status == REM_ACCESS_ERR")


def test_what_it_names_in_passing_exists() -> None:
    lines = re.findall(r"`((?:help|explain|load|tour) ?[a-z_=/ -]*)`", README)
    assert len(lines) > 4
    reader = Reader()
    for line in lines:
        reader.type(line)


@pytest.mark.parametrize("word", ["/work/", "/root", "pypi", "http:", "https:"])
def test_it_names_no_machine_and_no_registry(word: str) -> None:
    assert word not in README.lower()
