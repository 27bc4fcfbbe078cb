"""Labs that stay open for programs of other terminals, and programs beside the app."""

import os
import re
import socket
import tempfile
import time
from pathlib import Path

from rdmalab.command import UserError
from rdmalab.compat.c.execute import Execution

USUAL = "lab"
"""The name of a lab whose user gave none."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}")
_PRIVATE = 0o700


class NoSuchLab(UserError):  # noqa: N818  (it says what is the matter)
    """Raised with one sentence: a lab of this name cannot be opened, or joined."""


def _folder() -> Path:
    """The directory of this user's sockets; a path of a socket has at most 107 bytes, so short."""
    root = os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
    folder = Path(root) / f"rdmalab-{os.getuid()}"
    folder.mkdir(mode=_PRIVATE, exist_ok=True)
    if not _is_own(folder):
        raise NoSuchLab(f"{folder} belongs to another user: a lab there could be anybody's")
    return folder


def _is_own(path: Path) -> bool:
    status = path.lstat()
    return status.st_uid == os.getuid() and not status.st_mode & 0o022


def _place(name: str) -> Path:
    if not _NAME.fullmatch(name):
        raise NoSuchLab(f"{name!r} is no name of a lab: up to 32 letters, digits, . _ -")
    return _folder() / name


def new_place(name: str) -> Path:
    """The path for the socket of a lab that is opened now. Raises NoSuchLab if one is open."""
    place = _place(name)
    if place.exists():
        if _answers(place):
            raise NoSuchLab(f"a lab named {name} is open already; choose another: --name NAME")
        place.unlink()  # of a lab that was killed
    return place


def place_of(name: str) -> Path:
    """The socket of an open lab. Raises NoSuchLab if there is none."""
    place = _place(name)
    if not place.exists() or not _answers(place):
        open_now = ", ".join(sorted(each.name for each in _folder().iterdir() if _answers(each)))
        raise NoSuchLab(f"no lab named {name} is open; open are: {open_now or 'none'}")
    if not _is_own(place):
        raise NoSuchLab(f"the lab named {name} belongs to another user")
    return place


def _answers(place: Path) -> bool:
    """Whether a lab listens there. It discards a connection without a message."""
    with socket.socket(socket.AF_UNIX) as asked:
        try:
            asked.connect(str(place))
        except OSError:
            return False
    return True


_SLICE_S = 0.012  # of serving before the app draws and reads keys again
_LISTEN_S = 0.001
_MARGIN = 2  # columns of a page that its border takes


class LivePrograms:
    """An execution whose world a person can hold and step.

    In the past, on another branch or in another session their calls wait: a process cannot go back.
    """

    def __init__(self, execution: Execution) -> None:
        """Their output is kept for the app; the world is held until the app runs it."""
        self.execution = execution
        self.calls = execution.server.calls
        self.calls.is_held = True
        self.session = execution.lab.session
        self.session.caller_of = self._caller_of
        self._home = self.session.history.branch
        execution.in_app = True
        execution.outputs.show_by(self.write)
        self._text = b""
        self._lines: list[str] = []
        trouble = execution.server.trouble
        execution.tell = execution.server.tell = trouble.tell = self._lines.append
        trouble.margin = _MARGIN

    def _caller_of(self, event: int) -> str:
        is_theirs = self.session.history.is_event_of(self._home.name, event)
        return self.execution.caller_of(event) if is_theirs else ""

    @property
    def is_over(self) -> bool:
        """Whether all programs have ended; to an open lab others may come."""
        return self.execution.is_over and not self.execution.is_open

    @property
    def is_held(self) -> bool:
        """Whether events happen only by `step`."""
        return self.calls.is_held

    def hold(self, *, is_held: bool) -> None:
        """Hold the world, or let it run: from the present moment on."""
        self.calls.is_held = is_held
        self.execution.server.pace.begin_again()

    @property
    def is_served(self) -> bool:
        """Whether the session is where the programs are: at the end of their branch."""
        history = self.session.history
        is_shown = self.execution.lab.session is self.session
        return is_shown and history.live and history.branch is self._home

    def serve(self) -> bool:
        """Serve the programs for a slice of time; returns whether anything has happened."""
        until_s, has_happened = time.monotonic() + _SLICE_S, False
        while not self.is_over and self.is_served and time.monotonic() < until_s:
            if not self.execution.turn(_LISTEN_S):
                break
            has_happened = True
        return has_happened

    def step(self) -> bool:
        """The next event; False if nothing is planned."""
        return self.execution.server.step()

    def before_line(self) -> None:
        """A line of the user may let events happen: they see what the programs have done so far."""
        if self.is_served:
            self.calls.close_gates()
            self.calls.revoke()
            self.calls.memory.publish_all()

    def after_line(self) -> None:
        """Programs get what the events of a line have written and raised."""
        if self.is_served:
            self.execution.server.happened()

    def write(self, _: int, text: bytes) -> int:
        """Keep what programs print, up to the next look at it; as os.write."""
        self._text += text
        return len(text)

    def printed(self) -> list[str]:
        """The lines printed since the last call: by programs, and about them."""
        self.execution.outputs.copy()
        *lines, self._text = self._text.split(b"\n")
        found = [line.decode("utf-8", "replace") for line in lines]
        found += [row for text in self._lines for row in text.splitlines()]
        self._lines.clear()
        return found

    def leave(self) -> int:
        """End what still runs; returns the largest exit code."""
        self.execution.leave()
        return self.execution.code
