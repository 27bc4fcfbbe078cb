"""A docstring is help and nothing else: without any, the lab answers the same."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.answers import lessons

ROOT = Path(__file__).parents[2]
HELP = {"declaration.py"}  # makes the help texts


def answers(*switches: str) -> list[str]:
    command = [sys.executable, *switches, "-m", "tests.answers"]
    done = subprocess.run(command, capture_output=True, check=True, cwd=ROOT, encoding="utf-8")
    return done.stdout.splitlines()


def test_the_lab_answers_the_same_without_docstrings_and_assertions() -> None:
    plain, stripped = answers(), answers("-OO")
    assert stripped == plain
    assert sum(" passed " in line for line in stripped) == len(lessons())


def test_docstrings_are_read_where_help_is_made_and_nowhere_else() -> None:
    reads = re.compile(r"\.__doc__|\bgetdoc\b")
    files = {path for path in (ROOT / "rdmalab").rglob("*.py") if reads.search(path.read_text())}
    assert {path.name for path in files} == HELP


@pytest.mark.parametrize("words", [["explain", "post_send"], ["explain", "--all"]])
def test_help_says_why_its_texts_are_missing(words: list[str]) -> None:
    command = [sys.executable, "-OO", "-m", "rdmalab", *words]
    done = subprocess.run(command, capture_output=True, check=True, encoding="utf-8")
    assert "no help text: Python runs with -OO" in done.stdout
