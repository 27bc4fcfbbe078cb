"""Find scenario files, for the completion of `load`."""

import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

SUFFIX = ".rdmalab.yaml"
_MOST = 200
_DEEPEST = 4
_KEPT_S = 5


def scenario_files(root: Path | None = None) -> Iterator[tuple[str, str]]:
    """(path, title) of the scenarios below a directory, the current one if none is given."""
    base = root or Path()
    found = sorted(
        path for depth in range(_DEEPEST) for path in base.glob("*/" * depth + f"*{SUFFIX}")
    )
    for path in found[:_MOST]:
        yield path.relative_to(base).as_posix(), _title(path)


def lesson_names() -> Iterator[tuple[str, str]]:
    """(short name, title) of the installed lessons and labs, as `load` takes them.

    They are read every few seconds, not for each key that is typed: that takes 15 ms.
    """
    from rdmalab.scenario.files import lessons_folder

    yield from _titles(lessons_folder(), int(time.monotonic() // _KEPT_S)).items()


@lru_cache(maxsize=1)
def _titles(_folder: Path, _period: int) -> dict[str, str]:
    from rdmalab.scenario.lessons import titles

    return titles()


def _title(path: Path) -> str:
    from rdmalab.scenario.lessons import listed

    lesson = listed(str(path))
    return lesson.title if lesson is not None else ""
