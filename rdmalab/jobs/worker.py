"""The process that does batches of work, one item after the other."""

import signal
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from rdmalab.jobs.limits import Cut, Limits, limit_next_item, limit_process
from rdmalab.jobs.outcome import Ending, Outcome, Work

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

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
