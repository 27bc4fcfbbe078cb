"""A pool of local worker processes with limits; one that ends early takes no other item along.

Measured with items of 38 ms: a new interpreter for each costs 290 ms more, a process of the
fork server 20 ms, a warm worker that takes batches less than 1 ms. Why not ProcessPoolExecutor:
there the end of one worker fails every item of the pool.
"""

import multiprocessing
import os
import pickle
import signal
import time
import traceback
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING, Generic, TypeVar

from rdmalab.jobs.limits import Cut, Ending, Limits, Outcome, Work, limit_next_item, limit_process
from rdmalab.spec.row import dataclass

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerContext, SpawnContext


I = TypeVar("I")  # noqa: E741  (item)
V = TypeVar("V")

READY = "ready"
OUT_OF_MEMORY = "memory"


@dataclass(frozen=True, slots=True)
class Batch(Generic[I, V]):
    """Items with their numbers, for one worker."""

    work: Work[I, V]
    items: Sequence[tuple[int, I]]


def serve(connection: "Connection[object, object]", limits: Limits) -> None:
    """Do each batch that arrives, and send the outcome of each item; ends with the connection.

    ^C is the parent's affair: a terminal sends it to the whole group of processes.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    limit_process(limits)
    try:
        connection.send(READY)
        while True:
            batch = connection.recv()
            assert isinstance(batch, Batch)
            for number, item in batch.items:
                outcome = done(batch.work, number, item, limits)
                connection.send(outcome)
                if outcome.reason == OUT_OF_MEMORY:
                    return
    except (EOFError, OSError):
        return


def done(work: Work[I, V], number: int, item: I, limits: Limits) -> Outcome[V]:
    """The outcome of one item, done here; an exception of the work is in it."""
    limit_next_item(limits)
    try:
        return Outcome(number, Ending.DONE, work(item, limits))
    except Cut as cut:
        return Outcome(number, Ending.CUT, reason=str(cut))
    except MemoryError:
        return Outcome(number, Ending.CUT, reason=OUT_OF_MEMORY)
    except Exception:  # noqa: BLE001  (an error of the work ends this item, not the others)
        return Outcome(number, Ending.BROKEN, reason=traceback.format_exc())


MOST_IN_BATCH = 8
LEAVES_AFTER = 200
"""A worker is replaced after so many items: what they leave in memory does not add up."""

_START_S = 60.0
_MOST_FAILED_STARTS = 3
_GONE = (EOFError, OSError, pickle.UnpicklingError)


class CannotStart(RuntimeError):  # noqa: N818
    """Worker processes end before they take work."""


def cores() -> int:
    """The number of CPUs that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(slots=True)
class _Share:
    """Items that one worker takes at once. alone: it takes no others."""

    numbers: deque[int]
    alone: bool = False


@dataclass(slots=True)
class _Worker:
    """A process and its connection. share: what it still has to do, the first is in work.

    since: when it began that item, or was started.
    """

    process: BaseProcess
    connection: "Connection[object, object]"
    share: _Share
    since: float
    ready: bool = False
    taken: int = 0


@dataclass(slots=True)
class LocalPool:
    """Worker processes of this machine. jobs: how many at most.

    An item that reaches a limit is CUT. A worker that ends for an unknown reason, or is out of
    memory, has its item tried once more in a process of its own. The rest of its
    batch is done in one process each.
    """

    limits: Limits = field(default_factory=Limits)
    jobs: int = field(default_factory=cores)

    def results(self, work: Work[I, V], items: Iterable[I]) -> Generator[Outcome[V], None, None]:
        """See Pool. Raises CannotStart if no worker process can be started."""
        run = _Run(self, work, list(items))
        try:
            yield from run.outcomes()
        finally:
            run.end()


class _Run(Generic[I, V]):
    """The work on one list of items."""

    def __init__(self, pool: LocalPool, work: Work[I, V], items: list[I]) -> None:
        self.limits = pool.limits
        self.jobs = max(1, pool.jobs)
        self.work = work
        self.items = items
        self.shares = _shares(len(items), self.jobs)
        self.left = len(items)
        self.tried_alone: set[int] = set()
        self.failed_starts = 0
        self.workers: list[_Worker] = []
        self.context = _context(work.__module__)

    def outcomes(self) -> Iterator[Outcome[V]]:
        while self.left:
            self._hand_out()
            connections = {worker.connection: worker for worker in self.workers}
            for ready in wait(list(connections), timeout=self._until_deadline()):
                yield from self._received(connections[ready])  # type: ignore[index]
            for worker in [w for w in self.workers if self._deadline(w) <= time.monotonic()]:
                yield from self._late(worker)

    def end(self) -> None:
        """End all workers, whatever they are doing."""
        for worker in self.workers:
            worker.connection.close()
            worker.process.kill()
        for worker in self.workers:
            worker.process.join()
        self.workers.clear()

    # ------------------------------------------------------------------ giving work
    def _hand_out(self) -> None:
        """Give each worker without work a batch, and start workers as long as there are batches."""
        for worker in [w for w in self.workers if not w.share.numbers]:
            mine = next((share for share in self.shares if not share.alone), None)
            if mine is None or worker.share.alone or worker.taken >= LEAVES_AFTER:
                self._dismiss(worker)
            else:
                self.shares.remove(mine)
                worker.share = mine
                self._give(worker)
        while self.shares and len(self.workers) < self.jobs:
            self.workers.append(self._started(self.shares.popleft()))

    def _started(self, share: _Share) -> _Worker:
        ours, theirs = self.context.Pipe()
        process = self.context.Process(target=serve, args=(theirs, self.limits), daemon=True)
        process.start()
        theirs.close()
        return _Worker(process, ours, share, time.monotonic())

    def _give(self, worker: _Worker) -> None:
        worker.since = time.monotonic()
        worker.taken += len(worker.share.numbers)
        batch = [(number, self.items[number]) for number in worker.share.numbers]
        try:
            worker.connection.send(Batch(self.work, batch))
        except OSError:  # it has ended: the connection says so when it is read
            return

    def _dismiss(self, worker: _Worker) -> None:
        """Let a worker end that has nothing to do: it reads the end of its connection."""
        self.workers.remove(worker)
        worker.connection.close()
        worker.process.join(1)
        worker.process.kill()
        worker.process.join()

    # ------------------------------------------------------------------ taking results
    def _received(self, worker: _Worker) -> Iterator[Outcome[V]]:
        try:
            message = worker.connection.recv()
        except _GONE:
            yield from self._ended(worker)
            return
        if message == READY:
            worker.ready, self.failed_starts = True, 0
            self._give(worker)
            return
        assert isinstance(message, Outcome)
        number = worker.share.numbers.popleft()
        worker.since = time.monotonic()
        if message.reason == OUT_OF_MEMORY:
            yield from self._again(number, f"limit of {self.limits.memory >> 20} MiB of memory")
        else:
            yield self._finished(message)

    def _ended(self, worker: _Worker) -> Iterator[Outcome[V]]:
        """A process ended before its batch was done."""
        self.workers.remove(worker)
        worker.connection.close()
        worker.process.join()
        code = worker.process.exitcode or 0
        if not worker.ready:
            self.failed_starts += 1
            if self.failed_starts == _MOST_FAILED_STARTS:
                raise CannotStart(f"worker processes end at once (exit code {code})")
            self.shares.appendleft(worker.share)
            return
        numbers = worker.share.numbers
        culprit = numbers.popleft() if numbers else None
        self._one_each(numbers)
        if culprit is None:
            return
        if code == -getattr(signal, "SIGXCPU", 0):
            seconds = f"{self.limits.cpu_s:g} s of CPU time"
            yield self._finished(Outcome(culprit, Ending.CUT, reason=f"limit of {seconds}"))
        else:
            yield from self._again(culprit, f"its process ended ({_name_of(code)})")

    def _late(self, worker: _Worker) -> Iterator[Outcome[V]]:
        """End a worker whose item takes too long, or which does not start."""
        worker.process.kill()
        if not worker.ready or not worker.share.numbers:
            yield from self._ended(worker)
            return
        culprit = worker.share.numbers.popleft()
        self._one_each(worker.share.numbers)
        self.workers.remove(worker)
        worker.connection.close()
        worker.process.join()
        seconds = f"{self.limits.wall_s:g} s of wall clock"
        yield self._finished(Outcome(culprit, Ending.CUT, reason=f"limit of {seconds}"))

    def _again(self, number: int, reason: str) -> Iterator[Outcome[V]]:
        """Try an item once in its own process; it is CUT if that ends as well."""
        if number in self.tried_alone:
            yield self._finished(Outcome(number, Ending.CUT, reason=reason))
        else:
            self.tried_alone.add(number)
            self._one_each(deque([number]))

    def _one_each(self, numbers: deque[int]) -> None:
        self.shares.extendleft(_Share(deque([number]), alone=True) for number in reversed(numbers))
        numbers.clear()

    def _finished(self, outcome: Outcome[V]) -> Outcome[V]:
        self.left -= 1
        return outcome

    # ------------------------------------------------------------------ time
    def _deadline(self, worker: _Worker) -> float:
        if worker.ready and not worker.share.numbers:
            return float("inf")
        return worker.since + (self.limits.wall_s if worker.ready else _START_S)

    def _until_deadline(self) -> float:
        nearest = min(map(self._deadline, self.workers))
        return max(0.0, min(nearest - time.monotonic(), _START_S))


def _shares(count: int, jobs: int) -> deque[_Share]:
    """Batches of at most MOST_IN_BATCH; smaller ones where workers would have none."""
    size = max(1, min(MOST_IN_BATCH, count // (2 * jobs)))
    starts = range(0, count, size)
    return deque(_Share(deque(range(n, min(n + size, count)))) for n in starts)


def _context(module: str) -> "ForkServerContext | SpawnContext":
    """Processes of a fork server that has imported `module`; of new interpreters on Windows."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([module])
    return context


def _name_of(code: int) -> str:
    try:
        return signal.Signals(-code).name if code < 0 else f"exit code {code}"
    except ValueError:
        return f"signal {-code}"
