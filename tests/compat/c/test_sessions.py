"""What C programs did is kept in a small file, and happens again without them, anywhere."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from rdmalab.cli.session_commands import keep
from rdmalab.command import Invocation, New, Noun
from rdmalab.lab import Lab, open_session
from rdmalab.scenario import saving
from rdmalab.scenario.loader import load
from rdmalab.scenario.runner import Runner
from rdmalab.vocabulary import VOCABULARY
from tests.compat.c.running import both, execute, free_port, pair
from tests.digest import digest
from tests.each import ALL, a_third
from tests.test_digest import others
from tests.tools import needs

ROOT = Path(__file__).parents[3]
PINGPONG_OCTETS = 300 << 10
RANDOM_OCTETS = 2 * 8 * 4096  # written by both sides


def replayed_here(path: Path) -> str:
    """Events, time and digest of a session that is replayed in this process."""
    runner = Runner(load(str(path), VOCABULARY), open_session)
    runner.run()
    assert runner.ok, runner.results[-1].text(str(path))
    world = runner.session.world
    return f"{world.event} {world.now_ns} {digest(world.trace)}\n"


def replayed_in(python: str | Path, hash_seed: str, path: Path) -> str:
    """The same of another process."""
    env = {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]}
    command = [str(python), "-m", "tests.compat.c.replaying", str(path)]
    done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def pingpong(path: Path, iterations: int) -> Path:
    """The session of so many iterations."""
    words = ["ibv_rc_pingpong", "-g", "1", "-n", str(iterations), "-p", free_port()]
    ended = execute("--save", str(path), *both(*words, client=("localhost",)), limit_s=120)
    assert ended.code == 0, ended
    return path


@needs("ibv_rc_pingpong")
def test_a_thousand_iterations_are_a_small_file(tmp_path: Path) -> None:
    assert pingpong(tmp_path / "kept.rdmalab", 1_000).stat().st_size <= PINGPONG_OCTETS


@needs("ibv_rc_pingpong")
def test_it_is_the_same_session_with_any_hash_seed_and_in_any_python(tmp_path: Path) -> None:
    path = pingpong(tmp_path / "kept.rdmalab", 1_000 if os.environ.get(ALL) else 50)
    here = replayed_here(path)
    assert replayed_in(sys.executable, "4711", path) == here
    for python in a_third(others()):
        assert replayed_in(python, "random", path) == here, python


@needs("gcc")
@pytest.mark.parametrize("name", ["kept.rdmalab", "kept.rdmalab.yaml"])
def test_bytes_of_the_program_come_back_compactly(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    ended = execute("--save", str(path), *pair("random_bytes", tmp_path))
    assert ended.code == 0, ended
    here = replayed_here(path)
    if name.endswith(".yaml"):
        return
    assert path.stat().st_size < 1.5 * RANDOM_OCTETS
    assert replayed_in(sys.executable, "1", path) == here


def test_a_session_too_long_for_a_scenario_becomes_a_reported_session_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(saving, "MAX_STEPS", 10)
    lab = Lab()
    lab.do("use rc_pair")
    keep(str(tmp_path / "kept.rdmalab.yaml"), "a program", lab.session, tui=False)
    assert capsys.readouterr().err == (
        f"{tmp_path}/kept.rdmalab: a session file, because it has 14 steps; "
        "a scenario has at most 10\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["kept.rdmalab"]


@needs("gcc")
def test_run_and_why_read_it(tmp_path: Path) -> None:
    path = tmp_path / "kept.rdmalab"
    execute("--save", str(path), *pair("wrong_rkey", tmp_path))
    done = {
        command: subprocess.run(
            [sys.executable, "-m", "rdmalab", command, str(path)],
            capture_output=True, text=True, check=False,
        )
        for command in ("run", "why", "check")
    }  # fmt: skip
    assert (done["run"].returncode, done["run"].stderr) == (0, "1 of 1 scenario passed\n")
    assert done["why"].returncode == 1
    assert "rkey" in done["why"].stdout
    assert done["check"].returncode == 0
    assert done["check"].stderr.startswith("1 of 1 files can run")


@needs("gcc")
def test_a_session_file_keeps_the_program_and_source_line_of_each_call(tmp_path: Path) -> None:
    path = tmp_path / "kept.rdmalab"
    execute("--save", str(path), *pair("wrong_rkey", tmp_path))
    runner = Runner(load(str(path), VOCABULARY), open_session)
    runner.run()
    session = runner.session
    entry = next(each for each in session.journal if each.invocation.name == "post_send")
    caller = session.caller_of(entry.event)
    assert re.fullmatch(r"wrong_rkey \(\d+\), at pair\.h:\d+ in post", caller)
    again = tmp_path / "again.rdmalab"
    keep(str(again), "again", session, tui=False)
    later = Runner(load(str(again), VOCABULARY), open_session)
    later.run()
    assert later.session.caller_of(entry.event) == caller
    session.history.seek(session.history.place_after(entry.event - 1))
    session.perform(Invocation("alloc_pd", {"pd": New(Noun.PD, "A", "pd9")}))
    assert session.world.event == entry.event
    assert session.caller_of(entry.event) == ""  # another branch
