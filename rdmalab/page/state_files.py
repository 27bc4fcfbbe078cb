"""Files of the app that outlive the page: a worker has them in memory, the page in its database."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, Protocol

from rdmalab.recovery.user_paths import ProcessIdentity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

STATE_DIRECTORY = ".state"
_APPENDED = ("history", "lessons-done.txt")  # files that only grow, by all tabs together
_NS = 1_000_000
_MOST = 1 << 20  # bytes of a file that is kept


class KeptFile(NamedTuple):
    """A file that the page has. changed_ms: when it was changed last, in ms since 1970."""

    octets: bytes
    changed_ms: int


class Post(Protocol):
    """Sends a message to the page: its kind, a name, and a text or bytes."""

    def __call__(self, kind: str, name: str, content: str | bytes) -> None:
        """Send it; messages arrive in their order."""


class TabIdentity(ProcessIdentity):
    """A tab of the browser: no process ids and no locks of files between tabs.

    The page hands over the logs of closed tabs only, so a lock has to exclude this tab alone.
    """

    def __init__(self, tab: str) -> None:
        self._tab = tab
        self._held: dict[int, BinaryIO] = {}

    def name(self) -> str:
        """The number of the tab."""
        return self._tab

    def lock(self, stream: BinaryIO) -> bool:
        """Lock an open file until it is closed; False if this tab has locked it already."""
        number = os.fstat(stream.fileno()).st_ino
        holder = self._held.get(number)
        if holder is not None and holder is not stream and not holder.closed:
            return False
        self._held[number] = stream
        return True


class StateFiles:
    """The state directory and the scenarios beside it; the page gets each change.

    home: the working directory. Messages: `append` with the bytes that a file has more, `keep`
    with the whole file, `amend` with one that keeps its date, `drop` of a file that was removed;
    names are relative to `home`.
    """

    def __init__(self, home: Path, post: Post) -> None:
        self._home = home
        self._post = post
        self._known: dict[Path, tuple[int, int]] = {}  # size and time of the last change

    @property
    def state(self) -> Path:
        """The state directory."""
        return self._home / STATE_DIRECTORY

    def fill(self, files: Mapping[str, KeptFile]) -> None:
        """Write files that the page has; a name outside the directory is left out."""
        for name, (octets, changed_ms) in files.items():
            path = self._home / name
            if ".." in path.parts or self._home not in path.parents:
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(octets)
            os.utime(path, ns=(changed_ms * _NS, changed_ms * _NS))
            self._known[path] = _stamp(path)

    def record(self, file: Path, octets: bytes) -> None:
        """A record is being written to the session log, and is not on disk yet."""
        self._post("append", self._name(file), octets)
        size, _ = self._known.get(file, (0, 0))
        self._known[file] = (size + len(octets), 0)

    def look(self) -> None:
        """Tell the page what has changed since."""
        there = list(self._files())
        for path in there:
            known, stamp = self._known.get(path), _stamp(path)
            if known is not None and known[1] == 0 and known[0] == stamp[0]:
                self._known[path] = stamp  # what `record` has told
            elif known != stamp:
                self._known[path] = stamp
                self._tell(path, known or (0, 0))
        for gone in self._known.keys() - set(there):
            del self._known[gone]
            self._post("drop", self._name(gone), "")

    def _tell(self, path: Path, known: tuple[int, int]) -> None:
        octets, (size, changed) = path.read_bytes(), known
        if path.name in _APPENDED and len(octets) >= size:
            self._post("append", self._name(path), octets[size:])
        elif len(octets) <= _MOST:
            is_older = changed == path.stat().st_mtime_ns
            self._post("amend" if is_older else "keep", self._name(path), octets)

    def _files(self) -> Iterator[Path]:
        yield from (path for path in self.state.rglob("*") if path.is_file())
        yield from (path for path in self._home.glob("*.yaml") if path.is_file())

    def _name(self, path: Path) -> str:
        return path.relative_to(self._home).as_posix()


def _stamp(path: Path) -> tuple[int, int]:
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns
