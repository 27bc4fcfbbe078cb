"""The README tells the truth: its files exist, its words are understood, its Python runs."""

import re
from pathlib import Path

import pytest

from rdmalab.lab import Lab

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")


def test_files_it_names_exist() -> None:
    named = re.findall(r"\b(?:screenshots|scenarios|rdmalab/[a-z]+|tests)/[\w./-]+\.\w+", README)
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []


def walk() -> list[str]:
    """The indented lines of the five-minute walk that are typed at the prompt."""
    chapter = README.split("## Five minutes")[1].split("The same commands without the screen")[0]
    return [line.strip() for line in chapter.splitlines() if line.startswith("    ")]


def test_every_line_of_the_walk_is_understood() -> None:
    lab = Lab()
    lab.session.max_events = 2_000
    for line in ("use rc_pair", "post_recv B.qp0 sg=B.mr0[0:64]", *walk()):
        assert all(reply.error is None for reply in lab.do(line)), line


def test_the_walk_goes_where_it_says() -> None:
    lab = Lab()
    lab.session.max_events = 2_000
    lab.do("use rc_pair")
    for line in walk():
        lab.do(line)
    assert lab.look("A.qp0.state == ERR")
    assert lab.look("A.cq0.cqes[0].status == REM_ACCESS_ERR")


def test_its_python_runs() -> None:
    block = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(block) == 1
    names = [line for line in block[0].splitlines() if not line.startswith(("import", "from"))]
    lab: Lab | None = None
    for line in filter(None, names):
        if line == "lab = Lab()":
            lab = Lab()
        elif said := re.fullmatch(r'lab\.do\("(.*)"\)', line):
            assert lab is not None
            assert not any(reply.failed for reply in lab.do(said[1]))
        elif line == "lab.run()":
            assert lab is not None
            lab.run()
        else:
            asked = re.fullmatch(r'assert lab\.look\("(.*)"\)', line)
            assert asked, line
            assert lab is not None
            assert lab.look(asked[1])


@pytest.mark.parametrize("word", ["/work/", "/root", "pypi", "http"])
def test_it_names_no_machine_and_no_registry(word: str) -> None:
    assert word not in README.lower()
