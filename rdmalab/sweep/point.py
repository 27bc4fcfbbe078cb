"""One point of a sweep: a scenario with its values and its seed, played and measured.

This module is what a worker process imports.
"""

import dataclasses
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from itertools import product

from rdmalab.command import NotUnderstood
from rdmalab.jobs.limits import Limits
from rdmalab.lab import open_session
from rdmalab.scenario.loader import FileError, Scenario, loads
from rdmalab.scenario.runner import Runner, StepOutcome
from rdmalab.spec.row import dataclass
from rdmalab.sweep.measures import Value, evaluated
from rdmalab.version import VERSION
from rdmalab.vocabulary import VOCABULARY

MOST_POINTS = 100_000
_RANGE = re.compile(r"(-?\d+)\.\.(-?\d+)(?:\.\.(\d+))?", re.ASCII)
_FORM = "write NAME=0..31, NAME=0..100..10 or NAME=1us,5us,10us"


@dataclass(frozen=True, slots=True)
class Over:
    """A parameter and the values that it takes, as text."""

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Point:
    """One replay: a value for each parameter of the sweep, and a seed."""

    values: tuple[tuple[str, str], ...]
    seed: int


def over(text: str) -> Over:
    """`min_rnr_timer=0..31`, `loss=0,1%,5%`; a range has both its ends, and perhaps a step."""
    name, equals, given = text.partition("=")
    if not equals or not name.strip():
        raise NotUnderstood(f"--over {text}: a parameter without values", hint=_FORM)
    values = [value for part in given.split(",") for value in _values(text, part.strip())]
    twice = next((value for value in values if values.count(value) > 1), None)
    if twice is not None:
        raise NotUnderstood(f"--over {text}: {twice} is given twice", hint="leave one out")
    return Over(name.strip(), tuple(values))


def _values(text: str, part: str) -> list[str]:
    if not part:
        raise NotUnderstood(f"--over {text}: a value is missing", hint=_FORM)
    match = _RANGE.fullmatch(part)
    if match is None:
        return [part]
    first, last, step = int(match[1]), int(match[2]), int(match[3] or 1)
    if last < first or step == 0 or (last - first) // step >= MOST_POINTS:
        hint = f"from the smaller to the larger, at most {MOST_POINTS:,} values"
        raise NotUnderstood(f"--over {text}: {part} is no range", hint=hint)
    return [str(value) for value in range(first, last + 1, step)]


def points(overs: Sequence[Over], seeds: range) -> Iterator[Point]:
    """All points; the values of the first parameter change last, the seeds first.

    Raises NotUnderstood for a parameter given twice, and above MOST_POINTS.
    """
    names = [each.name for each in overs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        message = f"--over {twice} is given twice"
        raise NotUnderstood(message, hint=f"write all values in one: {twice}=1,2,3")
    count = len(seeds)
    for each in overs:
        count *= len(each.values)
    if count > MOST_POINTS:
        message = f"{count:,} points are more than {MOST_POINTS:,}"
        raise NotUnderstood(message, hint="fewer values or seeds")
    for values in product(*(each.values for each in overs)):
        for seed in seeds:
            yield Point(tuple(zip(names, values, strict=True)), seed)


class Ended(StrEnum):
    """The end of a point; measures are taken only if it PASSED."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    CUT = "cut"


@dataclass(frozen=True, slots=True)
class Experiment:
    """Data that all points of a sweep share.

    texts: of the measures. values: of parameters that the sweep does not change. profile None:
    that of the file. included: names and texts of files that the scenario includes.
    """

    path: str
    text: str
    texts: tuple[str, ...]
    values: tuple[tuple[str, str], ...] = ()
    profile: str | None = None
    included: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Item:
    """One piece of work for a pool."""

    experiment: Experiment
    point: Point

    def key(self, limits: Limits) -> str:
        """The digest of all that decides the result; the same in every process."""
        parts = dataclasses.asdict(self), limits.events, VERSION
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:24]


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a point. values: of the measures in their order, none unless it PASSED."""

    ended: Ended
    values: list[Value] = field(default_factory=list)
    events: int = 0
    error: str = ""


def play(item: Item, limits: Limits) -> Result:
    """Play a point and measure it; what goes wrong with it is in the result."""
    values = dict((*item.experiment.values, *item.point.values))
    try:
        scenario = opened(item.experiment, values, item.point.seed)
    except FileError as wrong:
        return Result(Ended.ERROR, error=str(wrong).splitlines()[0])
    profile = item.experiment.profile
    runner = Runner(scenario, open_session, profile=profile, max_events=limits.events)
    runner.run()
    events = runner.session.world.event + 1
    if runner.outcome is StepOutcome.PASSED:
        defaults = {name: each.default for name, each in scenario.document.params.items()}
        return _measured(item, runner, {**defaults, **values}, events)
    ended = Ended.FAILED if runner.outcome is StepOutcome.FAILED else Ended.ERROR
    return Result(ended, events=events, error=_failure(runner))


def opened(experiment: Experiment, values: Mapping[str, str], seed: int) -> Scenario:
    """The scenario with these values and this seed; raises FileError."""
    opener = dict(experiment.included).__getitem__
    scenario = loads(experiment.text, experiment.path, VOCABULARY, values, opener=opener)
    document = scenario.document.model_copy(update={"seed": seed})
    return dataclasses.replace(scenario, document=document)


def _measured(item: Item, runner: Runner, values: Mapping[str, str], events: int) -> Result:
    try:
        found = evaluated(runner, item.experiment.texts, values)
    except NotUnderstood as wrong:
        return Result(Ended.ERROR, events=events, error=wrong.message)
    return Result(Ended.PASSED, found, events)


def _failure(runner: Runner) -> str:
    """The reason the last step failed, as one line."""
    result = runner.results[-1]
    if result.error is not None:
        return str(result.error).splitlines()[0]
    assert result.failure is not None
    failure = result.failure
    where = f"line {result.step.place.line}"
    return f"{where}: expected {failure.expected}; {'; '.join(failure.actual)}"
