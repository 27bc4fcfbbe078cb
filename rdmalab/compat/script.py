"""A pyverbs program, carried out on a lab."""

import runpy
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from rdmalab.compat import install, process, virtual_time
from rdmalab.lab import Lab
from rdmalab.spec.limits import LinkLayer
from rdmalab.spec.profiles import Profile

_FAILED = 1
_INTERRUPTED = 130  # as a shell says of a program that ^C ended


def run(
    script: str, arguments: Sequence[str], profile: str | Profile,
    link_layer: LinkLayer = LinkLayer.ETHERNET,
    poll_warning_ns: int | None = process.POLL_WARNING_NS, lab: Lab | None = None,
) -> int:  # fmt: skip
    """Run it as `python SCRIPT ARG…` does and return its exit code; 130 after ^C.

    link_layer: of the ports of both nodes. poll_warning_ns: virtual time after which a queue that
    is polled in vain is reported; None: never. lab: the world in which it runs; None: a fresh one.
    """
    begun = process.begin(profile, link_layer=link_layer, lab=lab)
    begun.poll_warning_ns = poll_warning_ns
    before = signal.signal(signal.SIGINT, begun.turns.interrupt)
    install.install()
    sys.argv = [script, *arguments]
    path = Path(script)
    whole = str(path.absolute())  # as Python gives it to `__file__`
    sys.path.insert(0, str(path.resolve().parent))
    try:
        with virtual_time.virtual():
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
