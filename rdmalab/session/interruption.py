"""Cancel a long computation on ^C: it calls `check` between two short steps."""

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


@contextmanager
def stoppable(wanted: Callable[[], bool] = _never) -> Iterator[None]:
    """Within this context `check` raises Stopped once `wanted` returns True."""
    before = _WANTED.set(wanted)
    try:
        yield
    finally:
        _WANTED.reset(before)


def check() -> None:
    """Raise Stopped if the user has pressed ^C. Called every few milliseconds."""
    if _WANTED.get()():
        raise Stopped
