"""Find scenario files, for the completion of `load`."""

from collections.abc import Iterator
from pathlib import Path

from rdmalab import disk

SUFFIX = ".rdmalab.yaml"
_MOST = 200
_DEEPEST = 4
_HEAD = 2_000  # bytes in which a title stands


def scenario_files(root: Path | None = None) -> Iterator[tuple[str, str]]:
    """(path, title) of the scenarios below a directory, the current one if none is given."""
    base = root or Path()
    found = sorted(
        path for depth in range(_DEEPEST) for path in base.glob("*/" * depth + f"*{SUFFIX}")
    )
    for path in found[:_MOST]:
        yield path.relative_to(base).as_posix(), _title(path)


def lesson_names() -> Iterator[tuple[str, str]]:
    """(short name, title) of the installed scenarios, as `load` takes them."""
    from rdmalab.scenario.files import lessons_folder

    folder = lessons_folder()
    for path in sorted(folder.rglob(f"*{SUFFIX}")):
        yield path.relative_to(folder).as_posix().removesuffix(SUFFIX), _title(path)


def _title(path: Path) -> str:
    try:
        head = disk.beginning(path, _HEAD).decode("utf-8", "replace")
    except OSError:
        return ""
    lines = (line.partition("title:")[2] for line in head.splitlines() if line.startswith("title:"))
    return next(lines, "").strip().strip("'\"")
