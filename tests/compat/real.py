"""The real pyverbs, in the Python it is installed for: what it says is what the skin must say."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.compat import outcome

PYTHON = "/usr/bin/python3"  # apt installs pyverbs for this one
OURS = "rdmalab.compat.pyverbs."
REAL = "pyverbs."

INSTALLED = Path("/usr/lib/python3/dist-packages/pyverbs/utils.py")


def _same_python() -> bool:
    """Half of what is compared are errors that Python words itself, in each version otherwise."""
    asked = [PYTHON, "-c", "import sys; print(*sys.version_info[:2])"]
    finished = subprocess.run(asked, check=False, text=True, capture_output=True).stdout.split()
    return finished == [str(part) for part in sys.version_info[:2]]


needs_pyverbs = pytest.mark.skipif(
    not INSTALLED.exists() or not _same_python(),
    reason="python3-pyverbs is not installed for this version of Python; .ci/run installs it",
)


def real(*questions: list[Any]) -> list[Any]:
    """Answers of `outcome`'s functions: each question is a name and the arguments but the first."""
    asked = [[name, REAL, *given] for name, *given in questions]
    command = [PYTHON, "-I", outcome.__file__]
    sent = json.dumps(asked)
    done = subprocess.run(command, check=False, input=sent, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    answers: list[Any] = json.loads(done.stdout)
    return answers


def ours(*questions: list[Any]) -> list[Any]:
    """The same questions to the skin, answered in this process."""
    answers = [getattr(outcome, name)(OURS, *given) for name, *given in questions]
    as_sent: list[Any] = json.loads(json.dumps(answers))
    return as_sent


def same_calls(module: str, function: str, inputs: list[list[Any]]) -> None:
    """A function answers alike for all inputs; one differing is shown with its input."""
    ask = ["calls", [[module, function, each] for each in inputs]]
    (theirs,), (mine,) = real(ask), ours(ask)
    differing = [row for row in zip(inputs, theirs, mine, strict=True) if row[1] != row[2]]
    assert not differing
