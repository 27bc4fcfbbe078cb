"""Four published shapes, as numbers that were measured once: the sweeps must still give them.

Each row names a scenario of `scenarios/sweeps`, the values of its parameters, seeds, a measure and
its value. Within 1 %; if a change of the engine moves one, the new value is written here, with the
reason.
"""

from collections.abc import Iterable
from statistics import median
from typing import NamedTuple

from rdmalab.jobs.limits import Limits
from rdmalab.scenario.files import found, read
from rdmalab.sweep.point import Ended, Experiment, Item, Point, play

SHARE = 0.01


class Entry(NamedTuple):
    """One number of a table: the median over `seeds` seeds of a measure, in `unit`."""

    scenario: str
    values: dict[str, str]
    measure: str
    unit: float
    value: float
    seeds: int = 1

    @property
    def name(self) -> str:
        values = " ".join(f"{name}={value}" for name, value in self.values.items())
        return f"{self.scenario} {values}"


_GBIT = 1e9
_LOSSES = ("0.1%", "0.4%", "1%", "2%", "5%")


def _reads(latency: str, size: str, *values: float) -> Iterable[Entry]:
    for depth, value in zip((1, 2, 4, 8, 16), values, strict=True):
        given = {"latency": latency, "size": size, "depth": str(depth)}
        yield Entry("read-depth", given, "goodput(B->A)", _GBIT, value)


def _losses(latency: str, *values: float) -> Iterable[Entry]:
    for loss, value in zip(_LOSSES, values, strict=True):
        given = {"latency": latency, "loss": loss}
        yield Entry("loss", given, "goodput(A->B)", _GBIT, value, seeds=3)


_IOPS = {0: 1.526, 1: 68_282, 8: 6_074, 12: 1_551, 13: 1_037, 14: 778, 31: 2.034}
_ACKS = {"1ns": 4, "200ns": 32}

TABLE: tuple[Entry, ...] = (
    *(Entry("rnr-timer", {"min_rnr_timer": str(code)}, "iops", 1, value)
      for code, value in _IOPS.items()),
    *_reads("1us", "4096", 12.9, 25.74, 50.81, 92.2, 92.2),
    *_reads("10us", "4096", 1.595, 3.19, 6.37, 12.2, 22.6),
    *_reads("10us", "65536", 20.5, 40.9, 80.1, 94.8, 94.8),
    *_losses("1us", 90.6, 83.2, 72.2, 59.6, 2.965),
    *_losses("10us", 64.7, 41.8, 20.8, 19.3, 1.586),
    *(Entry("ack-coalescing", {"gap": gap}, "wire.count(opcode=ACKNOWLEDGE)", 1, value)
      for gap, value in _ACKS.items()),
)  # fmt: skip


def measured(entry: Entry) -> float:
    """The value now, in the unit of the entry; AssertionError for a run that did not pass."""
    path = found(f"sweeps/{entry.scenario}")
    experiment = Experiment(path, read(path), (entry.measure,))
    values: list[float] = []
    for seed in range(entry.seeds):
        point = Point(tuple(entry.values.items()), seed)
        result = play(Item(experiment, point), Limits(events=1_000_000))
        assert result.ended is Ended.PASSED, result.error
        value = result.values[0]
        assert isinstance(value, int | float)
        values.append(value)
    return median(values) / entry.unit


def is_right(entry: Entry, value: float) -> bool:
    """Whether a value is within SHARE of that of the table."""
    return abs(value - entry.value) <= SHARE * entry.value
