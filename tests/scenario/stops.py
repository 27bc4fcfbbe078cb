"""A scenario that is read from stop to stop."""

from rdmalab.scenario.result import StepResult
from rdmalab.scenario.runner import Runner


def next_stop(walk: Runner) -> list[StepResult]:
    """Run past the next note, up to the one after it."""
    first = walk.position
    while (step := walk.coming) is not None and not (step.is_stop and walk.position > first):
        walk.next_step()
    return walk.results[first:]
