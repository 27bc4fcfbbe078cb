"""The same journal and seed give the same trace: in any process, with any hash seed, any Python."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PYENV = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"


def others() -> list[Path]:
    """Every supported Python that pyenv has, or this one where there is no pyenv."""
    return sorted(PYENV.glob("3.1[1-9]*/bin/python")) or [Path(sys.executable)]


def digest_in(python: str | Path, hash_seed: str) -> str:
    env = {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]}
    command = [str(python), "-m", "tests.session.determinism_probe"]
    done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def here() -> str:
    return digest_in(sys.executable, "0")


@pytest.mark.parametrize("hash_seed", ["1", "4711"])
def test_hash_seed_does_not_matter(here: str, hash_seed: str) -> None:
    assert digest_in(sys.executable, hash_seed) == here


@pytest.mark.parametrize("python", others(), ids=lambda path: path.parts[-3])
def test_the_python_version_does_not_matter(here: str, python: Path) -> None:
    assert digest_in(python, "random") == here


def test_the_story_is_long_enough_to_mean_something(here: str) -> None:
    assert int(here.split()[0]) > 150
