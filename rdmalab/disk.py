"""Files of the user: read up to a limit, written atomically, regular files only.

A FIFO, a device and a socket are refused before they are opened: opening or reading one may
block. Each refusal is an OSError with the reason in `strerror`.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import BinaryIO

MOST = 16 << 20
"""The largest size of a file of lines, a log or a program, in bytes."""

_KINDS = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}
_BINARY = getattr(os, "O_BINARY", 0)
_NOT_FOLLOWED = getattr(os, "O_NOFOLLOW", 0)
_OWNER_ONLY = 0o600
_ANYBODY = 0o666  # less the umask

Recognise = Callable[[bytes], bool]


class FileExistsAsOther(OSError):  # noqa: N818  (it says what the name is)
    """The existing file is not of the kind that may be replaced."""


# --------------------------------------------------------------------------- reading
def read(path: str | Path, most: int = MOST) -> bytes:
    """All bytes of a regular file; raises OSError also if there are more than `most`."""
    octets = beginning(path, most + 1)
    if len(octets) > most:
        raise OSError(errno.EFBIG, f"larger than {most:,} bytes")
    return octets


def beginning(path: str | Path, octets: int) -> bytes:
    """The first bytes of a regular file, fewer if it is shorter."""
    with opened(path) as stream:
        return stream.read(octets)


def opened(path: str | Path, *, updates: bool = False) -> BinaryIO:
    """A regular file, open for reading, with `updates` for writing too; no other kind of file."""
    regular(os.stat(path))  # noqa: PTH116  (an empty name is refused here, Path makes it ".")
    access = os.O_RDWR if updates else os.O_RDONLY
    flags = access | _BINARY | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(path, flags)
    try:
        regular(os.fstat(descriptor))  # it may have been replaced since
    except OSError:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "r+b" if updates else "rb")


def regular(found: os.stat_result) -> None:
    """Raise OSError if this is a directory, a FIFO, a device, a socket or a link."""
    kind = stat.S_IFMT(found.st_mode)
    if kind == stat.S_IFREG:
        return
    if kind == stat.S_IFDIR:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if kind == stat.S_IFLNK:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    raise OSError(errno.EINVAL, f"{_KINDS.get(kind, 'a special file')}, not a regular file")


# --------------------------------------------------------------------------- writing
def write(path: str | Path, octets: bytes, may_replace: Recognise) -> bool:
    """Write a file atomically; returns whether one was replaced. Links are followed.

    may_replace: called with the bytes of an existing, non-empty file; raises FileExistsAsOther
    if it returns False. The old file stays until the new one is complete, and its mode and, where
    allowed, its owner are those of the new one.
    """
    if not os.fspath(path):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    target = os.path.realpath(path)
    if target == os.devnull:  # the one device that is meant when it is named
        return False
    try:
        there = os.lstat(target)
    except FileNotFoundError:
        _create(target, octets, _ANYBODY)
        return False
    regular(there)
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    if there.st_size and not may_replace(beginning(target, MOST)):
        raise FileExistsAsOther(errno.EEXIST, os.strerror(errno.EEXIST))
    _replace(target, octets, there)
    return bool(there.st_size)


def complaint(file: str, wrong: OSError | ValueError, kind: str, free: str = "") -> tuple[str, str]:
    """The message about a file that could not be written, and a hint; "" if none is known.

    kind: what was to be written there, `capture`. free: a name that can be chosen instead.
    """
    if isinstance(wrong, FileExistsAsOther):
        other = f"choose another name, such as {free}" if free else "choose another name"
        return f"{file} exists and is not a {kind}", other
    if not file:
        return "the file has no name", ""
    reason = wrong.strerror or wrong if isinstance(wrong, OSError) else "no such path"
    return f"{file} cannot be written: {reason}", ""  # ValueError: a NUL in it


def _replace(target: str, octets: bytes, there: os.stat_result) -> None:
    """Replace it by a temporary file in the same directory with a random name."""
    beside = str(Path(target).with_name(f".rdmalab-{os.urandom(8).hex()}.new"))
    _create(beside, octets, _OWNER_ONLY)
    try:
        _like(beside, there)
        os.replace(beside, target)  # noqa: PTH105
    except OSError:
        _remove(beside)
        raise


def _like(path: str, there: os.stat_result) -> None:
    """Give a file the owner and the mode of another; the owner first, because that clears bits."""
    if hasattr(os, "chown"):
        with contextlib.suppress(OSError):  # only root may give a file away
            os.chown(path, there.st_uid, there.st_gid)
    Path(path).chmod(stat.S_IMODE(there.st_mode))


def _create(path: str, octets: bytes, mode: int) -> None:
    """Write a new file, complete or not at all; links are not followed."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NOT_FOLLOWED | _BINARY
    descriptor = os.open(path, flags, mode)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(octets)
            stream.flush()
            os.fsync(descriptor)
    except OSError:
        _remove(path)
        raise


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        Path(path).unlink()


# --------------------------------------------------------------------------- folders
def write_tree(folder: str | Path, files: Mapping[str, bytes], mark: str) -> int:
    """Write files below a folder that this program made; returns how many are gone from it.

    files: by their path with `/`. mark: the name of a file with the list of all others, by which a
    folder is recognised; files on its list that are no longer wanted are removed. A folder that
    has files but no such list is not touched: FileExistsAsOther. It is no atomic change: one
    write in a thousand small files is not worth a flush of the disk.
    """
    base = Path(folder)
    before = _listed(base, mark)
    base.mkdir(parents=True, exist_ok=True)
    _write_list(base / mark, {*before, *files})  # first: what is stopped can be continued
    for name, octets in files.items():
        path = base / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_symlink():
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        if not path.exists() or path.read_bytes() != octets:
            path.write_bytes(octets)
    gone = [name for name in before if name not in files]
    for name in gone:
        _remove(str(base / name))
    _write_list(base / mark, files)
    return len(gone)


def _write_list(path: Path, names: Iterable[str]) -> None:
    path.write_text("".join(f"{name}\n" for name in sorted(names)), "utf-8")


def _listed(base: Path, mark: str) -> list[str]:
    """The files of an earlier time that lie below the folder."""
    if not base.exists() or (base.is_dir() and not any(base.iterdir())):
        return []
    if not (base / mark).is_file():
        raise FileExistsAsOther(errno.EEXIST, os.strerror(errno.EEXIST))
    names = read(base / mark).decode("utf-8", "replace").splitlines()
    return [name for name in names if _is_below(name)]


def _is_below(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return bool(parts) and ".." not in parts and not name.startswith("/")
