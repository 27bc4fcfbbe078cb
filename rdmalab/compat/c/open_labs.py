"""Labs that stay open for programs of other terminals: where their sockets are, by name."""

import os
import re
import socket
import tempfile
from pathlib import Path

from rdmalab.command import UserError

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
