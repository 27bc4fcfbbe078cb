"""Running totals over the whole trace, continued from the last record already read.

A breakpoint evaluates its condition after every event: reading the whole trace each time would be
quadratic. Everything kept here can be computed again. After a jump back in time, the totals of an
earlier moment are continued.
"""

from collections.abc import Callable, Hashable
from copy import deepcopy
from typing import Any, NamedTuple, TypeVar

from rdmalab.spec.records import Record
from rdmalab.world.trace import Trace

T = TypeVar("T")
_APART = 4_096  # records between two totals that are kept for those who go back


class RunningTotal(NamedTuple):
    """A value over the first `read` records."""

    read: int
    value: Any


class Aggregates:
    """One running value a question."""

    __slots__ = ("cuts", "kept")

    def __init__(self) -> None:
        self.kept: dict[Hashable, list[RunningTotal]] = {}
        self.cuts = 0

    def value(
        self, key: Hashable, trace: Trace, first: Callable[[], T], step: Callable[[T, Record], T]
    ) -> T:
        """Result of `first`, carried on by `step` over all records; `step` may change its value."""
        self._forget(trace)
        totals = self.kept.setdefault(key, [])
        read = totals[-1].read if totals else 0
        value: T = totals.pop().value if totals else first()
        records = trace.records
        for number in range(read, len(records)):
            if number % _APART == 0 and number:
                totals.append(RunningTotal(number, deepcopy(value)))
            value = step(value, records[number])
        totals.append(RunningTotal(len(records), value))
        return value

    def _forget(self, trace: Trace) -> None:
        """Discard totals over records that are no longer in the trace."""
        cuts, self.cuts = trace.cuts[self.cuts :], len(trace.cuts)
        if cuts:
            left = min(cuts)
            for key, totals in self.kept.items():
                self.kept[key] = [total for total in totals if total.read <= left]
