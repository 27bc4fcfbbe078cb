"""A pyverbs program, carried out on a lab."""

import runpy
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from rdmalab.compat import install, process, virtual_time
from rdmalab.spec.limits import LinkLayer
from rdmalab.spec.profiles import Profile

_FAILED = 1


def run(
    script: str, arguments: Sequence[str], profile: str | Profile,
    link_layer: LinkLayer = LinkLayer.ETHERNET,
) -> int:  # fmt: skip
    """Run it as `python SCRIPT ARG…` does and return its exit code.

    link_layer: of the ports of both nodes.
    """
    process.begin(profile, link_layer=link_layer)
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
    except Exception as error:  # noqa: BLE001  (the program's own, shown as Python shows it)
        shown = traceback.TracebackException.from_exception(error)
        own = (n for n, frame in enumerate(shown.stack) if frame.filename == whole)
        del shown.stack[: next(own, 0)]  # how it was started says nothing about it
        sys.stderr.write("".join(shown.format()))
        return _FAILED
    return 0


def _exit_code(code: object) -> int:
    """The exit status of `sys.exit(code)`."""
    if code is None or isinstance(code, int):
        return code or 0
    sys.stderr.write(f"{code}\n")
    return _FAILED
