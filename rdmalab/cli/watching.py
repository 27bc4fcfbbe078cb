"""`run --watch`: play files again when they, or files that they include, change.

The times of the files are compared a few times a second. That works on every file system, also on
network mounts where changes by other hosts raise no notification.
"""

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from rdmalab.cli import program

POLL_S = 0.3
_MOST_INCLUDED = 100
_INCLUDE = re.compile(r"\binclude:\s*[\"']?([\w./-]+\.yaml)", re.ASCII)

Stamp = tuple[int, int, int] | None
"""Time, size and inode of a file; None where there is none."""
Stamps = dict[str, tuple[Stamp, ...]]
"""File → the stamps of the file and of those that it includes."""


def repeat(files: Callable[[], Iterator[str]], play: Callable[[tuple[str, ...]], object]) -> None:
    """Play all files, then those that change, until KeyboardInterrupt.

    files: is called again for each look, so that new files are found.
    """
    seen = stamps(files())
    play(tuple(seen))
    while True:
        count = len(seen)
        program.tell(f"watching {count} file{'s' * (count != 1)}: ^C ends")
        changed, seen = _wait(files, seen)
        play(changed)


def _wait(files: Callable[[], Iterator[str]], seen: Stamps) -> tuple[tuple[str, ...], Stamps]:
    """The files that changed, and all stamps. A file that is being replaced is waited for."""
    while True:
        time.sleep(POLL_S)
        now = stamps(files())
        if changed := tuple(f for f, stamp in now.items() if stamp[0] and stamp != seen.get(f)):
            return changed, now
        seen = {**seen, **{file: stamp for file, stamp in now.items() if stamp[0]}}


def stamps(files: Iterator[str]) -> Stamps:
    """The stamps of some files."""
    return {file: tuple(_stamp(each) for each in _family(Path(file))) for file in files}


def _family(file: Path) -> list[Path]:
    """A file and those that it includes, directly or not. The text is searched, not understood:
    a file with a mistake is watched too.
    """
    found, front = [file], [file]
    while front and len(found) < _MOST_INCLUDED:
        including = front.pop()
        try:
            text = including.read_text("utf-8", "replace")
        except (OSError, ValueError):
            continue
        new = [including.parent / name for name in _INCLUDE.findall(text)]
        front += (each for each in new if each not in found)
        found += (each for each in new if each not in found)
    return found


def _stamp(file: Path) -> Stamp:
    try:
        there = file.stat()
    except (OSError, ValueError):
        return None
    return there.st_mtime_ns, there.st_size, there.st_ino
