"""A pool on the workers of a dask cluster, with the outcomes of a LocalPool.

Batches that a lost worker had are computed on another one. Inside a worker, items are done by a
limited process of its own, so an item that reaches a limit leaves the worker alone.
"""

import contextlib
import importlib
import os
import pickle
import subprocess
import sys
import threading
import uuid
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import field, replace
from typing import BinaryIO, Generic, Protocol, TypeVar, cast

from rdmalab.jobs.limits import Ending, Limits, Outcome, Work
from rdmalab.jobs.pool import MOST_IN_BATCH, LocalPool
from rdmalab.spec.row import dataclass
from rdmalab.version import VERSION

I = TypeVar("I")  # noqa: E741
V = TypeVar("V")

_END_S = 5.0


class Gone(RuntimeError):  # noqa: N818
    """The process of the pool has ended."""


@dataclass(frozen=True, slots=True)
class JobRequest(Generic[I, V]):
    """Items for one worker process with these limits."""

    work: Work[I, V]
    items: Sequence[I]
    limits: Limits


class ServedPool:
    """The other end: it starts the process and asks it, one request after the other."""

    def __init__(self) -> None:
        command = [sys.executable, "-c", "from rdmalab.jobs.cluster import main; main()"]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
        )

    def outcomes(self, request: JobRequest[I, V]) -> list[Outcome[V]]:
        """The outcome of each item, in order; raises Gone if the process has ended."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            stdin.write(pickle.dumps(request))
            stdin.flush()
            found: list[Outcome[V]] = pickle.load(stdout)
        except (OSError, EOFError, pickle.UnpicklingError) as wrong:
            raise Gone(f"the process of the pool has ended: {wrong}") from None
        return found

    def end(self) -> None:
        """End the process: it reads the end of its input."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def serve(requests: BinaryIO, replies: BinaryIO) -> None:
    """Answer each request, until there are no more."""
    while True:
        try:
            request = pickle.load(requests)
        except EOFError:
            return
        assert isinstance(request, JobRequest)
        results = LocalPool(request.limits, jobs=1).results(request.work, request.items)
        pickle.dump(sorted(results, key=lambda outcome: outcome.number), replies)
        replies.flush()


def main() -> None:
    """Serve on standard input and output; what work prints goes to standard error."""
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(sys.stdin.buffer, replies)


_RETRIES = 3
_CONNECT = "10s"
_BATCHES_A_THREAD = 4
_Batch = Sequence[tuple[int, I]]


class _Future(Protocol):
    """Methods that are used of a future of dask."""

    key: str
    status: str

    def exception(self) -> Exception: ...
    def result(self) -> object: ...
    def release(self) -> None: ...


class _Coming(Protocol):
    """Methods that are used of `as_completed`."""

    def __iter__(self) -> Iterator[_Future]: ...
    def add(self, future: _Future) -> None: ...
    def clear(self) -> None: ...


class _Client(Protocol):
    """Methods that are used of a client of dask."""

    loop: object

    def submit(self, function: object, *arguments: object, **options: object) -> _Future: ...
    def run(self, function: object, **options: object) -> dict[str, object]: ...
    def scheduler_info(self, n_workers: int) -> dict[str, dict[str, dict[str, object]]]: ...
    def close(self) -> None: ...


class ClusterFailed(RuntimeError):  # noqa: N818
    """The cluster cannot be used; the text says why, and what to do."""


@dataclass(slots=True)
class ClusterPool:
    """The workers of a scheduler. address: `tcp://host:8786`."""

    address: str
    limits: Limits = field(default_factory=Limits)

    def results(self, work: Work[I, V], items: Iterable[I]) -> Generator[Outcome[V], None, None]:
        """See Pool. Raises ClusterFailed without a scheduler or workers of this version."""
        numbered = list(enumerate(items))
        if not numbered:
            return
        with _connected(self.address) as client:
            threads = _checked(client)
            size = max(1, min(MOST_IN_BATCH, len(numbered) // (_BATCHES_A_THREAD * threads)))
            batches = [numbered[n : n + size] for n in range(0, len(numbered), size)]
            yield from _Run(client, work, self.limits).outcomes(batches)


class _Run(Generic[I, V]):
    """The work on one list of batches. batches: those in work, by the key of their future."""

    def __init__(self, client: _Client, work: Work[I, V], limits: Limits) -> None:
        self.client = client
        self.work = work
        self.limits = limits
        self.batches: dict[str, _Batch[I]] = {}
        self.distributed = importlib.import_module("distributed")

    def outcomes(self, batches: Sequence[_Batch[I]]) -> Iterator[Outcome[V]]:
        futures = [self._submitted(batch) for batch in batches]
        coming: _Coming = self.distributed.as_completed(futures, loop=self.client.loop)
        del futures  # a result that was taken is released by the cluster
        try:
            for future in coming:
                batch = self.batches.pop(future.key)
                wrong = future.exception() if future.status == "error" else None
                if wrong is None:
                    yield from cast("list[Outcome[V]]", future.result())
                elif not isinstance(wrong, self.distributed.KilledWorker):
                    raise ClusterFailed(f"a worker of the cluster failed: {wrong}")
                elif len(batch) == 1:
                    reason = "its worker ended each time"
                    yield Outcome(batch[0][0], Ending.CUT, reason=reason)
                else:
                    for item in batch:
                        coming.add(self._submitted([item]))
                future.release()
        finally:
            coming.clear()

    def _submitted(self, batch: _Batch[I]) -> _Future:
        key = f"rdmalab-{uuid.uuid4().hex}"
        self.batches[key] = batch
        return self.client.submit(
            done_there, VERSION, self.work, batch, self.limits,
            key=key, retries=_RETRIES, pure=False,
        )  # fmt: skip


@contextlib.contextmanager
def _connected(address: str) -> Iterator[_Client]:
    try:
        distributed = importlib.import_module("distributed")
    except ImportError:
        raise ClusterFailed("--cluster needs dask: pip install 'rdmalab[cluster]'") from None
    try:
        client: _Client = distributed.Client(address, timeout=_CONNECT, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as wrong:
        raise ClusterFailed(f"no scheduler at {address}: {wrong}") from None
    try:
        yield client
    finally:
        client.close()


def _checked(client: _Client) -> int:
    """The number of threads of all workers; raises ClusterFailed for another version."""
    workers = client.scheduler_info(n_workers=-1)["workers"]
    if not workers:
        raise ClusterFailed("the cluster has no workers; start dask worker ADDRESS")
    found = client.run(version_there, on_error="return")
    for address, version in found.items():
        if version != VERSION:
            message = f"worker {address} has rdmalab {version}, here is {VERSION}"
            raise ClusterFailed(f"{message}; install the same version there")
    return sum(int(str(worker["nthreads"])) for worker in workers.values())


# --------------------------------------------------------------------------- on a worker
_idle: list[ServedPool] = []  # one for each thread of a worker at most
_lock = threading.Lock()


def version_there() -> str:
    """The version that a worker has."""
    return VERSION


def done_there(
    version: str, work: Work[I, V], batch: _Batch[I], limits: Limits
) -> list[Outcome[V]]:
    """Do a batch on a worker of the cluster; also a worker that started later has its check."""
    if version != VERSION:
        raise ClusterFailed(f"this worker has rdmalab {VERSION}, not {version}")
    with _lock:
        pool = _idle.pop() if _idle else ServedPool()
    try:
        found = pool.outcomes(JobRequest(work, [item for _, item in batch], limits))
    except BaseException:
        pool.end()
        raise
    with _lock:
        _idle.append(pool)
    return [replace(each, number=batch[each.number][0]) for each in found]
