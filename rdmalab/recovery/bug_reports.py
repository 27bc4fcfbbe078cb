"""Unexpected exceptions: one sentence for the user, and a report file."""

import platform
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

from rdmalab.recovery.user_paths import process_name, state_path
from rdmalab.version import VERSION

FOLDER = "bugs"
KEPT = 20
"""Number of reports that are kept."""


def called(bug: BaseException) -> str:
    """`a bug in rdmalab 0.1.0: ValueError: …`, in one line."""
    what = " ".join(str(bug).split())
    return f"a bug in rdmalab {VERSION}: {type(bug).__name__}{f': {what}' if what else ''}"


def report(bug: BaseException, typed: Sequence[str] = ()) -> str:
    """Write a report file; returns its path, or why it could not be written.

    typed: the last lines that a person typed, oldest first.
    """
    try:
        return f"report: {_written(text_of(bug, typed))}"
    except OSError as wrong:
        return f"no report: {wrong.strerror or wrong}"


def text_of(bug: BaseException, typed: Sequence[str] = ()) -> str:
    """The text of a report; `typed` as for `report`."""
    system = f"Python {platform.python_version()}, {platform.platform()}"
    lines = "".join(f"> {line}\n" for line in typed)
    trace = "".join(traceback.format_exception(bug))
    return f"rdmalab {VERSION}\n{system}\n\ntyped, the newest last:\n{lines}\n{trace}"


def _written(text: str) -> Path:
    folder = state_path() / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    now_s, now_ns = divmod(time.time_ns(), 10**9)  # one reading: the names are in their order
    moment = time.strftime("%Y%m%d-%H%M%S", time.gmtime(now_s))
    path = folder / f"{moment}-{now_ns:09}-{process_name()}.txt"
    with path.open("x", encoding="utf-8", errors="backslashreplace") as stream:
        stream.write(text)
    for old in sorted(folder.glob("*.txt"))[:-KEPT]:
        old.unlink(missing_ok=True)
    return path
