"""Visits to other moments, and trials: afterwards the history is as it was before."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rdmalab.session.branch import Place, Snapshot
from rdmalab.world.trace import Stretch

if TYPE_CHECKING:
    from rdmalab.session.history import History

TRIAL = "a trial"  # the name of a branch that cannot be typed


@contextmanager
def read_only_visit(history: "History") -> Iterator[None]:
    """A context for visits to other moments.

    At its end the world and the trace are restored.
    """
    trace, moments = history.world.trace, history.moments
    base, now = moments.base, moments.capture()
    kept = (trace.tail, trace.first, trace.cause, len(trace.cuts))
    branch, live, jumps = history.branch, history.live, history.jumps
    trace.tail = list(trace.tail)
    try:
        yield
    finally:
        moments.restore(now)
        trace.tail, trace.first, trace.cause, cuts = kept
        # Not removed: a total that has read them counts those to come from there.
        trace.cuts[cuts:] = [trace.latest + 1] * len(trace.cuts[cuts:])
        moments.base = base
        history.branch, history.live, history.jumps = branch, live, jumps


@contextmanager
def undone_afterwards(history: "History") -> Iterator[None]:
    """A context for a trial: all commands and events in it are undone at its end.

    Totals over the log are cut back to this moment.
    """
    trace = history.world.trace
    with read_only_visit(history):
        history.part(TRIAL, history.here, trace.latest + 1)
        yield
    history.past.forget(TRIAL)
    trace.cuts.append(trace.latest + 1)


def replayed(history: "History", start: Snapshot, event: int) -> tuple[Stretch, Snapshot]:
    """The records after a snapshot up to this event, and the moment after it."""
    trace = history.world.trace
    with read_only_visit(history):
        history.moments.restore(start)
        trace.tail, trace.first = [], start.records
        history.replay_to(Place(event, 0))
        return Stretch(start.records, trace.tail), history.moments.capture()
