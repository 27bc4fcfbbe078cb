"""Scenario files: where they are, their short names, their text."""

from pathlib import Path

from rdmalab import disk
from rdmalab.scenario import yaml_tree
from rdmalab.scenario.source import FileError

SUFFIX = ".rdmalab.yaml"
LAB_SUFFIX = ".lab.yaml"


FOLDER = "scenarios"


PACKAGED = "lessons"  # where the wheel has that folder: pyproject.toml puts it there


def lessons_folder() -> Path:
    """The folder of the scenarios: ./scenarios, else that of the installed package.

    An editable install has no copy in the package; then the top level of the checkout.
    """
    package = Path(__file__).parents[1]
    places = (Path(FOLDER), package / PACKAGED, package.parent / FOLDER)
    return next((place for place in places if place.is_dir()), places[0])


def found(path: str) -> str:
    """The path for a short name: `err/rnr-retry-exceeded` or `err`."""
    named = Path(path)
    try:
        if named.suffix or named.is_absolute() or named.exists():
            return path
        there = (
            folder / f"{path}{suffix}"
            for folder in (Path(), lessons_folder())
            for suffix in (SUFFIX, LAB_SUFFIX)
        )
        folder = lessons_folder() / path
        whole = str(folder) if path and folder.is_dir() else path
        return next((str(file) for file in there if file.is_file()), whole)
    except (OSError, ValueError):  # no such path can be: whoever opens it says so
        return path


def short_name(path: str) -> str:
    """The short name for `load`: `err/rnr-retry-exceeded`; the path of other files."""
    try:
        below = Path(path).relative_to(lessons_folder())
    except ValueError:
        return path
    return below.as_posix().removesuffix(SUFFIX).removesuffix(LAB_SUFFIX)


def read(path: str) -> str:
    """The text of a file, if it is not too large and is UTF-8."""
    try:
        octets = disk.beginning(path, yaml_tree.MAX_OCTETS + 1)
    except OSError as wrong:
        raise FileError(path, f"cannot be read: {wrong.strerror or wrong}") from None
    except ValueError:
        raise FileError(path, "cannot be read: no such path") from None
    if len(octets) > yaml_tree.MAX_OCTETS:
        raise FileError(path, "the file is too large", f"at most {yaml_tree.MAX_OCTETS} bytes")
    try:
        return octets.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as wrong:
        line = octets.count(b"\n", 0, wrong.start) + 1
        raise FileError(path, f"line {line} is not UTF-8", "save it as UTF-8") from None
