"""Scenarios as programs with pyverbs: they do the same on the skin."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.each import a_tenth, each
from tests.export import exported_programs as programs
from tests.export.test_c_programs import _is_a_program


@each("name", a_tenth(programs.NAMES))
@pytest.mark.filterwarnings("ignore")  # of the device: the scenarios are full of them
def test_a_program_does_what_the_scenario_did(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = _is_a_program(name, "pyverbs")
    if not text:
        return
    world = programs.played(name).runner.session.world
    code, ran = programs.run_by_python(text, tmp_path, world.nodes["A"].profile.name)
    printed = capsys.readouterr()
    assert not code, printed.err[-500:]
    assert "as in the lab" in printed.out
    assert programs.completions(ran) == programs.completions(world)


def test_a_program_that_wants_something_else_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = programs.played("rc/send").text("pyverbs")
    for right, wrong in {
        "dict(wr_id=21,": "dict(wr_id=22,", "attr.qp_state, e.IBV_QPS_RTS": "attr.qp_state, 6",
        "b'hello'": "b'hallo'", "byte_len=64": "byte_len=65",
    }.items():  # fmt: skip
        at = text.rindex(right)
        changed = text[:at] + wrong + text[at + len(right) :]
        code, _ = programs.run_by_python(changed, tmp_path, "strict")
        assert code == 1, wrong
        assert "in the lab" in capsys.readouterr().err


def test_the_text_is_readable() -> None:
    text = programs.played("rc/send").text("pyverbs")
    assert text.startswith('"""SEND, the message that needs a receive\n')
    assert "# B posts a buffer first. It gives the address, A does not know it.\n" in text
    assert "    rdmalab python --call-time 0 program.py\n" in text


def test_it_runs_from_the_command_line_as_its_text_says(tmp_path: Path) -> None:
    source = tmp_path / "program.py"
    source.write_text(programs.played("rc/send").text("pyverbs"))
    command = [sys.executable, "-m", "rdmalab", "python", "--call-time", "0", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "as in the lab: 4 completions, states and memory"
