"""Tables for the tests of plots."""

from rdmalab.sweep.measures import Value
from rdmalab.sweep.plot import ChartRequest, Plot, plot
from rdmalab.sweep.point import Ended
from rdmalab.sweep.table import Row


def row(y: Value, seed: int = 0, **values: str) -> Row:
    """A row; y None: its run did not pass."""
    ended = Ended.PASSED if y is not None else Ended.FAILED
    return Row(tuple(values.items()), (seed,), False, {"y": y}, 9, ended, "" if y else "<no>")


def table(seeds: int = 3) -> list[Row]:
    """Two lines with bands; one point has no number."""
    return [
        row(None if (n, x, seed) == (2, 4, 1) else 10**x * n + seed, seed, x=str(x), n=str(n))
        for n in (1, 2) for x in (1, 2, 4, 5) for seed in range(seeds)
    ]  # fmt: skip


def drawn(seeds: int = 3, **choice: str) -> Plot:
    """The plot of that table."""
    return plot(table(seeds), ChartRequest("a < b & c", **choice))
