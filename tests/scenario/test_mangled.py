"""Whatever is in a file: it passes, fails or is refused with a message, and nothing else."""

import pytest

from rdmalab.scenario.result import StepOutcome
from tests.scenario.mangle import play, samples

COUNT = 125


@pytest.mark.parametrize("seed", range(4))
def test_mangled_files_are_refused_without_a_traceback(seed: int) -> None:
    for name, text in samples(COUNT, seed):
        outcome, answer = play(text, name)
        assert bool(answer) == (outcome is not StepOutcome.PASSED)
        assert "Traceback" not in answer
        assert "internal" not in answer
