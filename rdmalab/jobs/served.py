"""A pool in a process of its own, for a program that may not start limited processes.

A worker of dask is such a program: its process is a daemon, has threads, and keeps its memory.
Requests and replies are pickles on standard input and output.
"""

import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO, Generic, TypeVar

from rdmalab.jobs.limits import Limits
from rdmalab.jobs.outcome import Outcome, Work
from rdmalab.jobs.pool import LocalPool

I = TypeVar("I")  # noqa: E741
V = TypeVar("V")

_END_S = 5.0


class Gone(RuntimeError):  # noqa: N818
    """The process of the pool has ended."""


@dataclass(frozen=True, slots=True)
class Request(Generic[I, V]):
    """Items for one worker process with these limits."""

    work: Work[I, V]
    items: Sequence[I]
    limits: Limits


class ServedPool:
    """The other end: it starts the process and asks it, one request after the other."""

    def __init__(self) -> None:
        command = [sys.executable, "-c", "from rdmalab.jobs.served import main; main()"]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
        )

    def outcomes(self, request: Request[I, V]) -> list[Outcome[V]]:
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
        assert isinstance(request, Request)
        results = LocalPool(request.limits, jobs=1).results(request.work, request.items)
        pickle.dump(sorted(results, key=lambda outcome: outcome.number), replies)
        replies.flush()


def main() -> None:
    """Serve on standard input and output; what work prints goes to standard error."""
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(sys.stdin.buffer, replies)
