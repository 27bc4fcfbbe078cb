"""The write-ahead log: each line typed in a session is on disk before it runs.

One file and one lock a process. Each line of the file is a JSON object: first the head, then for
each line typed `typed`, `arrived` at the end of each run, `loaded` for a scenario, and `ended` with
the time at its end. `recovered_sessions` finds and reads the files of ended processes.
"""

import contextlib
import errno
import json
import os
import time
from collections.abc import Callable
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from rdmalab.recovery.user_paths import is_locked_now, process_name, state_path
from rdmalab.session.session import Session
from rdmalab.version import VERSION

LogRecord = dict[str, Any]
"""A line of the log file: a JSON object."""

Listener = Callable[[Path, bytes], None]
"""Called with the file and each line that was written to it, before what it announces happens."""

FORMAT = 1
SUFFIX = ".jsonl"
MOMENT = "%Y%m%d-%H%M%S"
"""The format of the start time in a log's name, in UTC."""


class LogHeader(NamedTuple):
    """The lab at the start.

    Nodes: name → profile. begin: the command of the face before the first line.
    """

    nodes: dict[str, str]
    seed: int = 0
    begin: tuple[str, ...] = ()


class LoggedMoment(NamedTuple):
    """A point in time: the number of the last event, and the clock."""

    event: int
    now_ns: int


class LoggedArrival(NamedTuple):
    """The end of a run. stopped: by ^C, so only this place records how far the run went."""

    place: LoggedMoment
    stopped: bool


class NullLog:
    """A log that writes nothing, for pipes, scripts and tests.

    is_kept: a person types the lines; then the work in labs is kept, too.
    """

    is_kept = False

    def typed(self, line: str, *, again: bool = False) -> None:
        """A line will run. again: it was running when the last process ended."""

    def arrived(self, arrival: LoggedArrival) -> None:
        """A run of this line has ended; its output is not printed yet."""

    def ended(self, place: LoggedMoment, commands: int) -> None:
        """The line has ended, after this many commands."""

    def loaded(self, path: str, text: str) -> str:
        """A scenario was read; returns why it cannot be used, empty if it can."""
        del path, text
        return ""

    def path(self, typed: str, number: int = 0) -> str:
        """The path of the file that was typed like this. number: of the files of the line."""
        del number
        return typed

    def known(self) -> LoggedArrival | None:
        """The end of the next run, if this line ran before; else None."""
        return None

    def begin_empty(self, head: LogHeader) -> Path | None:
        """Close this log and start one for an empty world; returns the closed file, if any."""
        del head
        return None

    def move_last_line(self) -> Path | None:
        """Begin a log with the last line; returns the one that ends before it, if any."""
        return None

    def trouble(self) -> str:
        """Sentence on what is no longer kept, and why; returned once, then empty."""
        return ""


class WriteAheadLog(NullLog):
    """Writes one log file, created at the first line."""

    is_kept = True

    def __init__(self, head: LogHeader, folder: Path | None = None) -> None:
        self.head = head
        self.folder = folder
        self.listener: Listener | None = None
        self.file: Path | None = None
        self._stream: BinaryIO | None = None
        self._trouble = ""
        self._given_up = False
        self._is_draft = False
        self._in_line = False
        self._of_line: list[LogRecord] = []  # the records of the last line

    # ------------------------------------------------------------------ what happens
    def typed(self, line: str, *, again: bool = False) -> None:
        """Write the line and sync it to disk before it runs. again: it runs a second time."""
        self._in_line, self._of_line = True, []
        self._write({"typed": line} | ({"again": True} if again else {}), sync=True)

    def arrived(self, arrival: LoggedArrival) -> None:
        """Synced only if the place cannot be found by running the line again."""
        stopped = {"stopped": True} if arrival.stopped else {}
        self._write({"arrived": list(arrival.place)} | stopped, sync=arrival.stopped)

    def ended(self, place: LoggedMoment, commands: int) -> None:
        """Write the moment at the end of the line, and how many commands ran."""
        self._write({"ended": list(place), "commands": commands})
        self._in_line = False

    def loaded(self, path: str, text: str) -> str:
        """Write the absolute path and the SHA-256 of a scenario; returns an empty text."""
        self._write({"loaded": str(Path(path).resolve()), "sha256": fingerprint(text)})
        return ""

    def trouble(self) -> str:
        """Return the pending error message and clear it; empty if there is none."""
        text, self._trouble = self._trouble, ""
        return text

    def report(self, trouble: str) -> None:
        """Report that something else is not kept, unless nothing is kept at all."""
        if not self._given_up:
            self._trouble = trouble

    # ------------------------------------------------------------------ beginning and end
    def leave(self) -> None:
        """The session was closed by the user."""
        if self._stream is not None:
            self._in_line = True
            self._write({"left": True})
            self.close()

    def close(self) -> None:
        """Close the file unchanged."""
        if self._stream is not None:
            with contextlib.suppress(OSError):
                self._stream.close()
        self._stream = self.file = None

    def start_over(self, head: LogHeader) -> None:
        """The log of a restored session: a draft until it is complete."""
        self.leave()
        self.head, self._is_draft = head, True

    def begin_empty(self, head: LogHeader) -> Path | None:
        """Close the log; the next line starts a new one. Returns the closed file, if any."""
        left = self.file
        self.leave()
        self.head, self._in_line = head, False
        return left

    def move_last_line(self) -> Path | None:
        """Begin a log with the last line, which replaced the world; the other one ends before it.

        Returns the closed file; None where nothing is written.
        """
        records, self._of_line, self._in_line = self._of_line, [], True
        self._write({"moved": True})
        left = self.begin_empty(self.head._replace(begin=()))
        self._in_line = True
        for record in records:
            self._write(record)
        self._in_line = False
        return left

    def whole(self) -> None:
        """The restored lines are written; from now on each line is synced before it runs."""
        self._is_draft, self._in_line = False, True
        if self._stream is not None:
            self._write({"whole": True}, sync=True)
        self._in_line = False

    # ------------------------------------------------------------------ the file
    def _write(self, record: LogRecord, *, sync: bool = False) -> None:
        """Write one line of JSON; after the first failure nothing is written."""
        if self._given_up or not self._in_line:
            return
        try:
            self._of_line.append(record)
            stream = self._stream or self._made()
            if sync:
                self._find()
            self._append(stream, record)
            stream.flush()
            if sync and not self._is_draft:
                os.fsync(stream.fileno())
        except OSError as wrong:
            self._given_up = True
            self._trouble = f"nothing is kept of this session: {wrong.strerror or wrong}"
            self.close()

    def _find(self) -> None:
        """Raise OSError if the file was removed, because no other process could find its lines."""
        if self.file is None or self._stream is None:
            return
        if not os.path.samestat(os.fstat(self._stream.fileno()), self.file.stat()):
            raise OSError(errno.ENOENT, "another file has the name of the session log")

    def _made(self) -> BinaryIO:
        folder = self.folder or sessions_path()
        folder.mkdir(parents=True, exist_ok=True)
        moment = time.strftime(MOMENT, time.gmtime())
        for number in count():
            self.file = folder / f"{moment}-{process_name()}-{number}{SUFFIX}"
            with contextlib.suppress(FileExistsError):
                self._stream = self.file.open("xb")
                break
        assert self._stream is not None
        is_locked_now(self._stream)
        draft = {"draft": True} if self._is_draft else {}
        about = {"rdmalab": FORMAT, "version": VERSION, **self.head._asdict(), **draft}
        self._append(self._stream, about)
        return self._stream

    def _append(self, stream: BinaryIO, record: LogRecord) -> None:
        octets = json.dumps(record, separators=(",", ":")).encode() + b"\n"
        stream.write(octets)
        if self.listener is not None and self.file is not None:
            self.listener(self.file, octets)


def sessions_path() -> Path:
    """The directory of all session logs."""
    return state_path() / "sessions"


def head_of(session: Session, begin: tuple[str, ...] = ()) -> LogHeader:
    """The head of this session's log."""
    nodes = {name: hca.profile.name for name, hca in session.world.nodes.items()}
    return LogHeader(nodes, session.seed, begin)


def place_of(session: Session) -> LoggedMoment:
    """The current event and time of a session."""
    return LoggedMoment(session.world.event, session.world.now_ns)


def fingerprint(text: str) -> str:
    """The SHA-256 of a text in UTF-8, in hexadecimal."""
    return sha256(text.encode()).hexdigest()
