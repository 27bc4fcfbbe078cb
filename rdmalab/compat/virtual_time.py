"""The clocks of Python, set to the time of the lab: who waits, waits there."""

import select
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rdmalab.compat.process import EPOCH_S, here

if TYPE_CHECKING:
    from _typeshed import FileDescriptorLike

    Waiting = Sequence[FileDescriptorLike]
    Ready = tuple[list[FileDescriptorLike], list[FileDescriptorLike], list[FileDescriptorLike]]

_NS = 1_000_000_000


def _sleep(seconds: float) -> None:
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    here().sleep(round(seconds * _NS))


def _since_begin_ns() -> int:
    return here().clock_ns()


def _wall_ns() -> int:
    return EPOCH_S * _NS + here().clock_ns()


def _in_seconds(clock: Callable[[], int]) -> Callable[[], float]:
    def read() -> float:
        return clock() / _NS

    return read


_real_select = select.select


def _select(
    rlist: "Waiting", wlist: "Waiting", xlist: "Waiting", timeout: float | None = None
) -> "Ready":
    """No other thread runs: the wait is one of virtual time."""
    ready = _real_select(rlist, wlist, xlist, 0)
    if any(ready) or timeout is None:
        return ready if any(ready) else _real_select(rlist, wlist, xlist, None)
    _sleep(timeout)
    return _real_select(rlist, wlist, xlist, 0)


_CLOCKS: dict[str, Callable[..., object]] = {
    "sleep": _sleep,
    "time": _in_seconds(_wall_ns),
    "time_ns": _wall_ns,
    "monotonic": _in_seconds(_since_begin_ns),
    "monotonic_ns": _since_begin_ns,
    "perf_counter": _in_seconds(_since_begin_ns),
    "perf_counter_ns": _since_begin_ns,
}


@contextmanager
def virtual() -> Iterator[None]:
    """Inside, Python's clocks return the virtual time."""
    real = {name: getattr(time, name) for name in _CLOCKS}
    _set(_CLOCKS, _select)
    try:
        yield
    finally:
        _set(real, _real_select)


def _set(clocks: Mapping[str, Callable[..., object]], wait: Callable[..., object]) -> None:
    for name, clock in clocks.items():
        setattr(time, name, clock)
    setattr(select, "select", wait)  # noqa: B010  (it is typed as what it was)
