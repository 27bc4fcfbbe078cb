"""^C during a long computation: the computation calls `check` between two short steps."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Stopped(BaseException):
    """The user has stopped what was being computed; the world is where it was before.

    Not an error: what handles errors must let it pass, as it does KeyboardInterrupt.
    """


def _never() -> bool:
    return False


_WANTED: ContextVar[Callable[[], bool]] = ContextVar("stop wanted", default=_never)


@contextmanager
def stoppable(wanted: Callable[[], bool] = _never) -> Iterator[None]:
    """Inside, `check` raises Stopped as soon as `wanted` answers True; without it never."""
    before = _WANTED.set(wanted)
    try:
        yield
    finally:
        _WANTED.reset(before)


def check() -> None:
    """Raise Stopped if the user has pressed ^C. Called every few milliseconds of work."""
    if _WANTED.get()():
        raise Stopped
