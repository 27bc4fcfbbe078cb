"""A pyverbs program, carried out on a lab."""

import importlib
import importlib.util
import runpy
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from rdmalab.compat import process
from rdmalab.compat.process import EPOCH_S, here
from rdmalab.lab import Lab
from rdmalab.spec.limits import LinkLayer
from rdmalab.spec.profiles import Profile

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


_NAME = "pyverbs"
_ROOM = "rdmalab.compat."


class _Skin(Loader):
    """The module of the skin, under both names."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return importlib.import_module(_ROOM + spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: create_module has executed it."""


class _Finder(MetaPathFinder):
    """The first finder of sys.meta_path: an installed pyverbs is not found."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        if fullname != _NAME and not fullname.startswith(_NAME + "."):
            return None
        try:
            known = importlib.util.find_spec(_ROOM + fullname)
        except ModuleNotFoundError:
            return None
        if known is None:
            return None
        return ModuleSpec(
            fullname, _Skin(), is_package=known.submodule_search_locations is not None
        )


def install() -> None:
    """Add the hook to this process; a second call does nothing."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


_FAILED = 1
_INTERRUPTED = 130  # as a shell says of a program that ^C ended


def run(  # noqa: PLR0913, PLR0917  (one for each option)
    script: str, arguments: Sequence[str], profile: str | Profile,
    link_layer: LinkLayer = LinkLayer.ETHERNET,
    poll_warning_ns: int | None = process.POLL_WARNING_NS, lab: Lab | None = None,
    call_ns: int = process.CALL_NS,
) -> int:  # fmt: skip
    """Run it as `python SCRIPT ARG…` does and return its exit code; 130 after ^C.

    link_layer: of the ports of both nodes. poll_warning_ns: virtual time after which a queue that
    is polled in vain is reported; None: never. lab: the world in which it runs; None: a fresh one.
    call_ns: virtual time that a call takes; of 0, a loop that waits for the clock never ends.
    """
    begun = process.begin(profile, link_layer=link_layer, lab=lab)
    begun.poll_warning_ns, begun.call_ns = poll_warning_ns, call_ns
    before = signal.signal(signal.SIGINT, begun.turns.interrupt)
    install()
    sys.argv = [script, *arguments]
    path = Path(script)
    whole = str(path.absolute())  # as Python gives it to `__file__`
    sys.path.insert(0, str(path.resolve().parent))
    try:
        with virtual():
            runpy.run_path(whole, run_name="__main__")
    except SystemExit as left:
        return _exit_code(left.code)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001  (shown as Python shows it)
        shown = traceback.TracebackException.from_exception(error)
        own = (n for n, frame in enumerate(shown.stack) if frame.filename == whole)
        del shown.stack[: next(own, 0)]  # how it was started says nothing about it
        sys.stderr.write("".join(shown.format()))
        return _INTERRUPTED if isinstance(error, KeyboardInterrupt) else _FAILED
    finally:
        signal.signal(signal.SIGINT, before)
    return 0


def _exit_code(code: object) -> int:
    """The exit status of `sys.exit(code)`."""
    if code is None or isinstance(code, int):
        return code or 0
    sys.stderr.write(f"{code}\n")
    return _FAILED
