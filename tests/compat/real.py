"""The real pyverbs, in the Python it is installed for: what it says is what the skin must say."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.compat import outcome

PYTHON = "/usr/bin/python3"  # apt installs pyverbs for this one
OURS = "rdmalab.compat.pyverbs."
REAL = "pyverbs."

needs_pyverbs = pytest.mark.skipif(
    not Path("/usr/lib/python3/dist-packages/pyverbs/utils.py").exists(),
    reason="python3-pyverbs is not installed; .ci/run installs it",
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
