"""Scenario files: where they are, their short names, their text."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from rdmalab import disk
from rdmalab.grammar.hints import suggest
from rdmalab.scenario.session_file import MAGIC, MOST_PACKED
from rdmalab.scenario.source import MAX_OCTETS, FileError

SUFFIX = ".rdmalab.yaml"
LAB_SUFFIX = ".lab.yaml"


FOLDER = "scenarios"


INSTRUCTOR = "instructor"  # the folder of the labs with their solutions


PACKAGED = "lessons"  # where the wheel has that folder: pyproject.toml puts it there


def lessons_folder() -> Path:
    """The folder of the scenarios: ./scenarios, else that of the installed package."""
    return own if (own := Path(FOLDER)).is_dir() else _shipped_folder()


def _shipped_folder() -> Path:
    """The folder of the installed package; an editable install has it in its checkout."""
    package = Path(__file__).parents[1]
    places = (package / PACKAGED, package.parent / FOLDER)
    return next((place for place in places if place.is_dir()), Path(FOLDER))


WHERE = "the instructor's labs are in instructor/labs of the repository"


def of_instructor(path: str) -> str:
    """The path of an instructor's lab for a short name: with solutions and hidden goals.

    It stands in the folder `instructor` here or in the checkout, which no installed package has:
    without it that of the file for students.
    """
    name = path if "/" in path else f"labs/{path}"
    for folder in (Path(INSTRUCTOR), Path(__file__).parents[2] / INSTRUCTOR):
        if not Path(path).suffix and (file := folder / f"{name}{LAB_SUFFIX}").is_file():
            return str(file)
    return found(path)


def found(path: str) -> str:
    """The path for a short name: `err/rnr-retry-exceeded`, `err`, or `rnr-retry-exceeded`.

    The last part of a name suffices where only one lesson or lab has it. A folder `scenarios` here
    comes before that of the installed package. Where there is none, a path below it is that of the
    package, as the manual writes it.
    """
    named = Path(path)
    try:
        if named.is_absolute() or named.exists():
            return path
        if named.suffix or named.parts[:1] == (FOLDER,):
            return _shipped(named) or path
        there = (
            folder / f"{path}{suffix}"
            for folder in (Path(), lessons_folder(), _shipped_folder())
            for suffix in (SUFFIX, LAB_SUFFIX)
        )
        if file := next((str(file) for file in there if file.is_file()), ""):
            return file
        folder = lessons_folder() / path
        if path and folder.is_dir():
            return str(folder)
        same = [file for name, file in lesson_files() if name.rpartition("/")[2] == path]
        return same[0] if len(same) == 1 else path
    except (OSError, ValueError):  # no such path can be: whoever opens it says so
        return path


def _shipped(named: Path) -> str:
    """The file or folder of the package for a path below `scenarios`; empty if there is none."""
    if named.parts[:1] != (FOLDER,):
        return ""
    shipped = str(lessons_folder().joinpath(*named.parts[1:]))
    files = (f"{shipped}{suffix}" for suffix in ("", SUFFIX, LAB_SUFFIX))
    return next((file for file in files if Path(file).exists()), "")


def lesson_files(folder: str = "", within: str = "") -> Iterator[tuple[str, str]]:
    """Short name and path of each lesson and lab, in any order.

    folder: of the scenarios, empty: the usual one. within: what the names of a folder begin with.
    """
    try:
        entries = list(os.scandir(folder or lessons_folder()))
    except OSError:
        return
    for entry in entries:
        if entry.name.endswith((SUFFIX, LAB_SUFFIX)) and entry.is_file():
            yield within + _unsuffixed(entry.name), entry.path
        elif entry.is_dir(follow_symlinks=False):
            yield from lesson_files(entry.path, f"{within}{entry.name}/")


def _similar(path: str) -> str:
    """The lessons that may be meant by a short name: `did you mean rc/send or seeds/send?`.

    Or how many names have this word: `lessons rnr: 11 have this word`.
    """
    names = [name for name, _ in lesson_files()]
    last = path.rpartition("/")[2]
    same = sorted(name for name in names if name.rpartition("/")[2] == last)
    if same:
        return f"did you mean {' or '.join(same)}?"
    near = suggest(path, names)
    if near.startswith("did"):
        return near
    alike = sum(path.lower() in re.split(r"[/-]", name) for name in names)
    of = f" {path}: {alike} {'have' if alike > 1 else 'has'} this word" if alike else " lists them"
    return f"lessons{of}"


def _unsuffixed(name: str) -> str:
    return name.removesuffix(SUFFIX).removesuffix(LAB_SUFFIX)


def short_name(path: str) -> str:
    """The short name for `load`: `err/rnr-retry-exceeded`; the path of other files."""
    for folder in (lessons_folder(), _shipped_folder()):
        if (whole := Path(path).absolute()).is_relative_to(folder.absolute()):
            return _unsuffixed(whole.relative_to(folder.absolute()).as_posix())
    return path


def is_folder(path: str) -> bool:
    """True for an existing folder; False for what cannot be a path."""
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):
        return False


def read(path: str) -> str:
    """The text of a file, if it is not too large and is UTF-8."""
    return text_of(contents(path), path)


def contents(path: str) -> bytes:
    """The bytes of a scenario or of a session file, more than it may have if there are more."""
    try:
        octets = disk.beginning(path, MAX_OCTETS + 1)
        is_longer = len(octets) > MAX_OCTETS and octets.startswith(MAGIC)
        return disk.beginning(path, MOST_PACKED + 1) if is_longer else octets
    except OSError as wrong:
        hint = (
            "" if Path(path).suffix or not isinstance(wrong, FileNotFoundError) else _similar(path)
        )
        raise FileError(path, f"cannot be read: {wrong.strerror or wrong}", hint) from None
    except ValueError:
        raise FileError(path, "cannot be read: no such path") from None


# How files of pcapng and of pcap begin: in both byte orders, with times in us and in ns.
_CAPTURES = (
    b"\x0a\x0d\x0d\x0a", b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\xc3\xd4", b"\x4d\x3c\xb2\xa1",
    b"\xa1\xb2\x3c\x4d",
)  # fmt: skip


def is_packed(path: str) -> bool:
    """Whether a file is a session file, by how it begins; False if it cannot be read."""
    try:
        return disk.beginning(path, len(MAGIC)) == MAGIC
    except (OSError, ValueError):
        return False


def text_of(octets: bytes, path: str) -> str:
    """The text of a file that is YAML; raises FileError if it cannot be."""
    if octets.startswith(MAGIC):
        raise FileError(path, "is a session file, not YAML", "run, why and load read it")
    if octets[:4] in _CAPTURES:
        hint = "rdmalab writes captures, Wireshark and tshark read them"
        raise FileError(path, "is a capture of packets, not a scenario", hint)
    if len(octets) > MAX_OCTETS:
        raise FileError(path, "the file is too large", f"at most {MAX_OCTETS} bytes")
    try:
        return octets.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as wrong:
        line = octets.count(b"\n", 0, wrong.start) + 1
        raise FileError(path, f"line {line} is not UTF-8", "save it as UTF-8") from None
