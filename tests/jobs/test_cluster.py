"""The pool of a dask cluster: the outcomes of the local one, also after a worker was killed."""

import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from rdmalab.jobs import cluster
from rdmalab.jobs.cluster import ClusterFailed, ClusterPool, done_there
from rdmalab.jobs.limits import MIB, Ending, Limits, Outcome
from tests.jobs.items import work

distributed = pytest.importorskip("distributed")
LIMITS = Limits(cpu_s=1, wall_s=60, memory=512 * MIB, events=9)
pytestmark = pytest.mark.filterwarnings("default")  # dask's own


@pytest.fixture(scope="module")
def local() -> Iterator[Any]:
    started = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None,
        silence_logs=50,
    )  # fmt: skip
    with started:
        yield started


def test_outcomes_are_those_of_the_local_pool_though_a_worker_is_killed(local: Any) -> None:
    items: list[object] = [*range(60), "spin", "events", "wrong", "exit", *range(64, 80)]
    pool = ClusterPool(local.scheduler_address, LIMITS)
    found: dict[int, Outcome[object]] = {}
    for outcome in pool.results(work, items):
        assert outcome.number not in found
        found[outcome.number] = outcome
        if len(found) == 5:
            victim = next(iter(local.workers.values())).process.process
            os.kill(victim.pid, signal.SIGKILL)
    assert sorted(found) == list(range(80))
    for number in (*range(60), *range(64, 80)):
        value = found[number].value
        assert isinstance(value, tuple)
        assert value[0] == number * number
    assert [found[n].ending for n in range(60, 64)] == [
        Ending.CUT, Ending.CUT, Ending.BROKEN, Ending.CUT
    ]  # fmt: skip
    assert found[60].reason == "limit of 1 s of CPU time"


def test_another_version_is_refused(local: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "VERSION", "0.0.1")
    with pytest.raises(ClusterFailed, match=r"has rdmalab .*, here is 0\.0\.1; install the same"):
        list(ClusterPool(local.scheduler_address, LIMITS).results(work, [1]))
    with pytest.raises(ClusterFailed, match="this worker has"):
        done_there("9.9", work, [(0, 1)], LIMITS)


def test_no_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_CONNECT", "1s")
    with pytest.raises(ClusterFailed, match="no scheduler at tcp://127"):
        list(ClusterPool("tcp://127.0.0.1:9", LIMITS).results(work, [1]))
    assert list(ClusterPool("tcp://127.0.0.1:9", LIMITS).results(work, [])) == []
