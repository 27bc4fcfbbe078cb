"""The local pool: one outcome for each item, and an item that does harm ends alone."""

import dataclasses
import multiprocessing
import os
import signal
import time
from pathlib import Path

import pytest

from rdmalab.jobs.limits import MIB, Ending, Limits, Outcome
from rdmalab.jobs.pool import LEAVES_AFTER, LocalPool, _shares
from tests.jobs.items import work

LIMITS = Limits(cpu_s=1, wall_s=20, memory=512 * MIB, events=9)


def outcomes(items: list[object], jobs: int = 2) -> dict[int, Outcome[object]]:
    found: dict[int, Outcome[object]] = {}
    for outcome in LocalPool(LIMITS, jobs).results(work, items):
        assert outcome.number not in found
        found[outcome.number] = outcome
    assert sorted(found) == list(range(len(items)))
    assert not multiprocessing.active_children()
    return found


def test_every_item_has_its_value_and_workers_leave() -> None:
    count = 2 * LEAVES_AFTER + 50
    found = outcomes(list(range(count)), jobs=1)
    values = [found[n].value for n in range(count)]
    assert [value[0] for value in values if isinstance(value, tuple)] == [
        n * n for n in range(count)
    ]
    assert len({value[1] for value in values if isinstance(value, tuple)}) == 3


def test_no_items_no_outcomes() -> None:
    assert outcomes([]) == {}


def test_harm_ends_the_item_and_no_other(tmp_path: Path) -> None:
    marked = tmp_path / "marked"
    marked.write_text("x")
    harm = {
        "spin": (Ending.CUT, "limit of 1 s of CPU time"),
        "eat": (Ending.CUT, "limit of 512 MiB of memory"),
        "exit": (Ending.CUT, "its process ended (exit code 7)"),
        "events": (Ending.CUT, "limit of 9 events"),
        f"once {marked}": (Ending.DONE, ""),
        "interrupt": (Ending.DONE, ""),
    }
    items: list[object] = []
    for number, word in enumerate(harm):
        items += [word, *range(5 * number, 5 * number + 5)]
    found = outcomes([*items, "wrong", f"write {tmp_path}/no"])
    for number, item in enumerate(items):
        outcome = found[number]
        if isinstance(item, int):
            assert isinstance(outcome.value, tuple)
            assert outcome.value[0] == item * item
        else:
            assert (outcome.ending, outcome.reason) == harm[str(item)]
    assert found[len(items)].ending is Ending.BROKEN
    assert "KeyError: 'wrong'" in found[len(items)].reason
    assert "File too large" in found[len(items) + 1].reason
    assert not (tmp_path / "no").exists() or not (tmp_path / "no").read_bytes()


def test_the_parent_watches_the_wall_clock() -> None:
    start = time.monotonic()
    pool = LocalPool(dataclasses.replace(LIMITS, wall_s=0.5), jobs=1)
    found = {outcome.number: outcome for outcome in pool.results(work, [1, "sleep", 2, 3])}
    assert found[1] == Outcome(1, Ending.CUT, reason="limit of 0.5 s of wall clock")
    assert [found[n].ending for n in (0, 2, 3)] == [Ending.DONE] * 3
    assert time.monotonic() - start < 20


def test_a_worker_killed_from_outside_loses_no_item() -> None:
    found = LocalPool(LIMITS, jobs=2).results(work, list(range(300)))
    first = next(found)
    assert isinstance(first.value, tuple)
    os.kill(first.value[1], signal.SIGKILL)
    values = [first, *found]
    assert sorted(outcome.number for outcome in values) == list(range(300))
    assert all(outcome.ending is Ending.DONE for outcome in values)


def test_closing_the_results_ends_the_workers() -> None:
    found = LocalPool(LIMITS, jobs=2).results(work, [1, "sleep", "sleep", 2])
    assert next(found).ending is Ending.DONE
    start = time.monotonic()
    found.close()
    assert time.monotonic() - start < 10  # what sleeps there would be cut after 20 s
    assert not multiprocessing.active_children()


@pytest.mark.parametrize(
    ("count", "jobs", "sizes"), [(3, 2, [1, 1, 1]), (8, 2, [2, 2, 2, 2]), (20, 1, [8, 8, 4])]
)
def test_batches_are_small_where_workers_would_have_none(
    count: int, jobs: int, sizes: list[int]
) -> None:
    assert [len(share.numbers) for share in _shares(count, jobs)] == sizes
