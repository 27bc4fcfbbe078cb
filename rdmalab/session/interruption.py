"""Cancel a long computation on ^C: it calls `check` between two short steps, and says how far."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Stopped(BaseException):
    """Raised when the user cancels a computation; the world is unchanged.

    Not an error: error handlers must not catch it, like KeyboardInterrupt.
    """


def _never() -> bool:
    return False


_WANTED: ContextVar[Callable[[], bool]] = ContextVar("stop requested", default=_never)
PROGRESS: ContextVar[tuple[int, int]] = ContextVar("done, of", default=(0, 0))
"""Set by `check`, in the context in which the computation runs."""


@contextmanager
def stoppable(wanted: Callable[[], bool] = _never) -> Iterator[None]:
    """Within this context `check` raises Stopped once `wanted` returns True."""
    before = _WANTED.set(wanted)
    try:
        yield
    finally:
        _WANTED.reset(before)


def check(done: int = 0, of: int = 0) -> None:
    """Raise Stopped if the user has pressed ^C. Called every few milliseconds.

    done, of: how many of the steps of this pass are done; of 0: not known here.
    """
    if of:
        PROGRESS.set((done, of))
    if _WANTED.get()():
        raise Stopped
