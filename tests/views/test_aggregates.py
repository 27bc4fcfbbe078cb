"""Folds: carried on while the past stands, computed again when it is another one."""

from rdmalab.spec.records import Kind, Record
from rdmalab.views.aggregates import Aggregates
from rdmalab.world.trace import Trace


def record(event: int) -> Record:
    return (event, 0, -1, Kind.CALLED, "A", 0, "x", 0)


class Counting:
    """A step that knows how often it was taken."""

    def __init__(self) -> None:
        self.steps = 0

    def __call__(self, count: int, _record: Record) -> int:
        self.steps += 1
        return count + 1


def trace_of(*records: Record) -> Trace:
    trace = Trace()
    trace.tail += records
    return trace


def test_only_what_is_new_is_read() -> None:
    folds, step, trace = Aggregates(), Counting(), trace_of(record(0), record(1))
    assert folds.value("k", trace, int, step) == 2
    trace.tail.append(record(2))
    assert folds.value("k", trace, int, step) == 3
    assert step.steps == 3


def test_aggregates_of_another_past_are_recomputed() -> None:
    folds, step, trace = Aggregates(), Counting(), trace_of(record(0), record(1), record(2))
    folds.value("k", trace, int, step)
    trace.go_to(1)
    assert folds.value("k", trace, int, step) == 1
    trace.go_to(0)
    trace.tail += [record(0), record(5)]
    assert folds.value("k", trace, int, step) == 2


def test_who_goes_back_a_little_reads_a_little() -> None:
    folds, step, trace = Aggregates(), Counting(), trace_of(*map(record, range(10_000)))
    assert folds.value("k", trace, int, step) == 10_000
    trace.go_to(9_000)
    assert folds.value("k", trace, int, step) == 9_000
    assert step.steps == 10_000 + 9_000 - 8_192


def test_a_total_that_is_kept_is_not_changed_by_what_comes_later() -> None:
    def step(counts: list[int], _record: Record) -> list[int]:
        counts[0] += 1
        return counts

    folds, trace = Aggregates(), trace_of(*map(record, range(5_000)))
    assert folds.value("k", trace, lambda: [0], step) == [5_000]
    trace.go_to(4_500)
    assert folds.value("k", trace, lambda: [0], step) == [4_500]


def test_each_question_has_its_own_total() -> None:
    folds, trace = Aggregates(), trace_of(record(0))
    assert folds.value("k", trace, int, lambda n, _r: n + 1) == 1
    assert folds.value("l", trace, int, lambda n, _r: n + 2) == 2
    assert folds.value("m", Trace(), int, lambda n, _r: n + 2) == 0
