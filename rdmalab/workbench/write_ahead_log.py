"""The diary: what is typed in a session, on disk before it runs, so that no crash can take it.

One file and one lock a process; each line of it is a JSON object: first the head, then of each line
typed that it was `typed`, where each of its journeys `arrived`, which scenario it `loaded`, and
where time stood when it had `ended`. `shelf` finds and reads the files of processes that are gone.
"""

import contextlib
import errno
import json
import os
import time
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from rdmalab.session.session import Session
from rdmalab.version import VERSION
from rdmalab.workbench.user_paths import is_locked_now, state_path

FORMAT = 1
SUFFIX = ".jsonl"
MOMENT = "%Y%m%d-%H%M%S"
"""How the name of a diary tells when it began, in UTC."""


class LogHeader(NamedTuple):
    """How the lab began. nodes: name → profile; begin: what the face did before anybody typed."""

    nodes: dict[str, str]
    seed: int = 0
    begin: tuple[str, ...] = ()


class LoggedMoment(NamedTuple):
    """Where time stands: the number of the last event, and the clock."""

    event: int
    now_ns: int


class LoggedArrival(NamedTuple):
    """Where a journey ended; stopped: by ^C, so that only the place tells how far it went."""

    place: LoggedMoment
    stopped: bool


class NullLog:
    """A diary of which nothing stays: for pipes, scripts and tests."""

    def typed(self, line: str, *, again: bool = False) -> None:
        """A line is about to be carried out; `again`: it was when the last process ended."""

    def arrived(self, arrival: LoggedArrival) -> None:
        """A journey of this line is over, and nobody was told yet."""

    def ended(self, place: LoggedMoment, commands: int) -> None:
        """The line is carried out, so many commands of it."""

    def loaded(self, path: str, text: str) -> str:
        """A scenario was read; what is wrong with it, empty if nothing."""
        del path, text
        return ""

    def path(self, typed: str) -> str:
        """Where the scenario is that was typed like this."""
        return typed

    def known(self) -> LoggedArrival | None:
        """Where the next journey ended, if this line was carried out before."""
        return None

    def begin_empty(self, head: LogHeader) -> Path | None:
        """Leave this diary and begin one for an empty world; the file that was left, if any."""
        del head
        return None

    def trouble(self) -> str:
        """What is not kept any more, and why; told once."""
        return ""


class WriteAheadLog(NullLog):
    """Writes one file, which is made when the first line is typed."""

    def __init__(self, head: LogHeader, folder: Path | None = None) -> None:
        self.head = head
        self.folder = folder
        self.file: Path | None = None
        self._stream: BinaryIO | None = None
        self._trouble = ""
        self._given_up = False
        self._is_draft = False
        self._in_line = False

    # ------------------------------------------------------------------ what happens
    def typed(self, line: str, *, again: bool = False) -> None:
        self._in_line = True
        self._write({"typed": line} | ({"again": True} if again else {}), sync=True)

    def arrived(self, arrival: LoggedArrival) -> None:
        """Synced only where the place cannot be found by carrying the line out again."""
        stopped = {"stopped": True} if arrival.stopped else {}
        self._write({"arrived": list(arrival.place)} | stopped, sync=arrival.stopped)

    def ended(self, place: LoggedMoment, commands: int) -> None:
        self._write({"ended": list(place), "commands": commands})
        self._in_line = False

    def loaded(self, path: str, text: str) -> str:
        self._write({"loaded": str(Path(path).resolve()), "sha256": fingerprint(text)})
        return ""

    def trouble(self) -> str:
        said, self._trouble = self._trouble, ""
        return said

    def report(self, trouble: str) -> None:
        """Have it told that something else is not kept, unless nothing is kept at all."""
        if not self._given_up:
            self._trouble = trouble

    # ------------------------------------------------------------------ beginning and end
    def leave(self) -> None:
        """The session ended as somebody wished."""
        if self._stream is not None:
            self._in_line = True
            self._write({"left": True})
            self.close()

    def close(self) -> None:
        """Let the file go as it is."""
        if self._stream is not None:
            with contextlib.suppress(OSError):
                self._stream.close()
        self._stream = self.file = None

    def start_over(self, head: LogHeader) -> None:
        """A file for a session that is brought back: a draft, until it is `whole`."""
        self.leave()
        self.head, self._is_draft = head, True

    def begin_empty(self, head: LogHeader) -> Path | None:
        left = self.file
        self.leave()
        self.head, self._in_line = head, False
        return left

    def whole(self) -> None:
        """All that was brought back is written; from now on each line is safe before it runs."""
        self._is_draft, self._in_line = False, True
        if self._stream is not None:
            self._write({"whole": True}, sync=True)
        self._in_line = False

    # ------------------------------------------------------------------ the file
    def _write(self, record: dict[str, Any], *, sync: bool = False) -> None:
        """One line of JSON; the first that fails is the last that was tried."""
        if self._given_up or not self._in_line:
            return
        try:
            stream = self._stream or self._made()
            if sync:
                self._find()
            stream.write(_line(record))
            stream.flush()
            if sync and not self._is_draft:
                os.fsync(stream.fileno())
        except OSError as wrong:
            self._given_up = True
            self._trouble = f"nothing is kept of this session: {wrong.strerror or wrong}"
            self.close()

    def _find(self) -> None:
        """OSError where the file was removed: its lines would be found by no other process."""
        if self.file is None or self._stream is None:
            return
        if not os.path.samestat(os.fstat(self._stream.fileno()), self.file.stat()):
            raise OSError(errno.ENOENT, "another file has the name of the diary")

    def _made(self) -> BinaryIO:
        folder = self.folder or sessions_path()
        folder.mkdir(parents=True, exist_ok=True)
        moment = time.strftime(MOMENT, time.gmtime())
        for number in count():
            self.file = folder / f"{moment}-{os.getpid()}-{number}{SUFFIX}"
            with contextlib.suppress(FileExistsError):
                self._stream = self.file.open("xb")
                break
        assert self._stream is not None
        is_locked_now(self._stream)
        draft = {"draft": True} if self._is_draft else {}
        about = {"rdmalab": FORMAT, "version": VERSION, **self.head._asdict(), **draft}
        self._stream.write(_line(about))
        return self._stream


def sessions_path() -> Path:
    """The directory of all diaries."""
    return state_path() / "sessions"


def head_of(session: Session, begin: tuple[str, ...] = ()) -> LogHeader:
    """How this session began."""
    nodes = {name: hca.profile.name for name, hca in session.world.nodes.items()}
    return LogHeader(nodes, session.seed, begin)


def place_of(session: Session) -> LoggedMoment:
    return LoggedMoment(session.world.event, session.world.now_ns)


def fingerprint(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _line(record: dict[str, Any]) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"
