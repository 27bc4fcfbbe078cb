"""The points of a sweep: every combination of the values, each with every seed."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from rdmalab.command import NotUnderstood

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
