"""One item of work: its limits (CPU time, memory, wall clock, events, lines) and its outcome."""

import math
from collections.abc import Callable, Generator, Iterable
from enum import StrEnum
from typing import Generic, Protocol, TypeVar

from rdmalab.spec.row import dataclass

try:
    import resource
except ImportError:  # Windows: events, lines and the wall clock remain
    resource = None  # type: ignore[assignment]

MIB = 1 << 20
_OPEN_FILES = 64


class Cut(Exception):  # noqa: N818  (a limit is no error of the program)
    """Raised by work that reached one of its limits; its text is the reason."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one item of work.

    cpu_s: seconds of CPU time, rounded up to whole seconds by the kernel. wall_s: seconds until
    the parent ends the process. memory: bytes of address space of the process. events, lines: the
    work itself counts them.
    """

    cpu_s: float = 8.0
    wall_s: float = 30.0
    memory: int = 1024 * MIB
    events: int = 50_000
    lines: int = 300


def limit_process(limits: Limits) -> None:
    """Limit this process: its memory, no file written, few files open, no core dump."""
    if resource is None:
        return
    for what, most in (
        (resource.RLIMIT_AS, limits.memory),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, _OPEN_FILES),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(what)
        allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (allowed, hard))


def limit_next_item(limits: Limits) -> None:
    """Allow `cpu_s` more seconds of CPU time; the kernel ends the process after that (SIGXCPU)."""
    if resource is None:
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    soft = math.ceil(used.ru_utime + used.ru_stime + limits.cpu_s)
    if hard != resource.RLIM_INFINITY:
        soft = min(soft, hard)
    resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


I = TypeVar("I")  # noqa: E741  (item)
V = TypeVar("V")
I_contra = TypeVar("I_contra", contravariant=True)
V_co = TypeVar("V_co", covariant=True)

Work = Callable[[I, Limits], V]
"""Function for one item. It belongs to a module: a worker imports it by its name.

It may raise Cut. Any other exception is an error of the work, not of the item.
"""


class Ending(StrEnum):
    """The end of the work on an item."""

    DONE = "done"
    CUT = "cut"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Outcome(Generic[V_co]):
    """The outcome of the item `number`, counted from 0 in the order given.

    value: None unless DONE. reason: which limit ended it (CUT), or the traceback (BROKEN).
    """

    number: int
    ending: Ending
    value: V_co | None = None
    reason: str = ""


class Pool(Protocol):
    """Does work on many items; `LocalPool` here, `ClusterPool` on other machines."""

    def results(self, work: Work[I, V], items: Iterable[I]) -> Generator[Outcome[V], None, None]:
        """One outcome for each item, in the order in which they end.

        Closing the iterator ends all work that is not done.
        """


__all__ = ["Ending", "Outcome", "Pool", "Work"]
