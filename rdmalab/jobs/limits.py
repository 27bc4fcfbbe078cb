"""Limits of one item of work: CPU time, memory, wall clock, events, lines."""

import math
from dataclasses import dataclass

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
