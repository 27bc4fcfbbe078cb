"""Directories of the user: the history of lines and the session logs, and the settings."""

import os
from pathlib import Path
from typing import BinaryIO

STATE = "RDMALAB_STATE"
"""The environment variable that names another directory."""
_SETTINGS = "settings.toml"


def state_path() -> Path:
    """The state directory; created if that is possible."""
    chosen = os.environ.get(STATE)
    path = Path(chosen) if chosen else _usual_path()
    path.mkdir(parents=True, exist_ok=True)
    return path


def settings_file() -> Path:
    """The file of the settings, in the state directory if one is chosen; it may not exist."""
    if chosen := os.environ.get(STATE):
        return Path(chosen) / _SETTINGS
    from platformdirs import user_config_path

    return user_config_path("rdmalab", appauthor=False) / _SETTINGS


def _usual_path() -> Path:
    from platformdirs import user_state_path

    return user_state_path("rdmalab", appauthor=False)


class ProcessIdentity:
    """Identity of this process among those that use the same directory."""

    def name(self) -> str:
        """A part of the names of files that only this process writes."""
        return str(os.getpid())

    def lock(self, stream: BinaryIO) -> bool:
        """Lock an open file until it is closed; False if another process has locked it."""
        try:
            import fcntl
        except ImportError:  # Windows locks bytes, here one behind everything that is ever written
            import msvcrt

            stream.seek(1 << 40)
            try:
                msvcrt.locking(stream.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
            except OSError:
                return False
            finally:
                stream.seek(0)
            return True
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True


_identity = ProcessIdentity()


def replace_identity(identity: ProcessIdentity) -> ProcessIdentity:
    """Use another identity, where the system has no process ids and locks; returns the old one."""
    global _identity
    before, _identity = _identity, identity
    return before


def process_name() -> str:
    """The name of this process in the names of its files."""
    return _identity.name()


def is_locked_now(stream: BinaryIO) -> bool:
    """Lock an open file until it is closed; returns False if another process has locked it."""
    return _identity.lock(stream)
