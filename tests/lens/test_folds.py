"""Folds: carried on while the past stands, computed again when it is another one."""

from rdmalab.lens.folds import Folds
from rdmalab.spec.records import Kind, Record


def record(event: int) -> Record:
    return (event, 0, -1, Kind.CALLED, "A", 0, "x", 0)


class Counting:
    """A step that knows how often it was taken."""

    def __init__(self) -> None:
        self.steps = 0

    def __call__(self, count: int, _record: Record) -> int:
        self.steps += 1
        return count + 1


def test_only_what_is_new_is_read() -> None:
    folds, step, records = Folds(), Counting(), [record(0), record(1)]
    assert folds.value("k", records, int, step) == 2
    records.append(record(2))
    assert folds.value("k", records, int, step) == 3
    assert step.steps == 3


def test_another_past_is_read_anew() -> None:
    folds, step, records = Folds(), Counting(), [record(0), record(1), record(2)]
    folds.value("k", records, int, step)
    del records[1:]
    assert folds.value("k", records, int, step) == 1
    records[:] = [record(0), record(5)]
    assert folds.value("k", records, int, step) == 2


def test_each_question_has_its_own_total() -> None:
    folds, records = Folds(), [record(0)]
    assert folds.value("k", records, int, lambda n, _r: n + 1) == 1
    assert folds.value("l", records, int, lambda n, _r: n + 2) == 2
    assert folds.value("m", [], int, lambda n, _r: n + 2) == 0
