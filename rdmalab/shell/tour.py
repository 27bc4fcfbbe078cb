"""The tour: a guided lab whose work is kept in the state directory, so that it goes on another day.

Each time it is opened, its work goes to a file with the next number: a session that is restored
after a crash finds the file with which it began as it was.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from rdmalab import disk
from rdmalab.shell.lab_requests import WARN, open_lab
from rdmalab.shell.styled_text import plain
from rdmalab.workbench.files import Load
from rdmalab.workbench.lab_words import Tour
from rdmalab.workbench.user_paths import state_path

if TYPE_CHECKING:
    from rdmalab.classroom.lab_session import LabSession
    from rdmalab.shell.conversation import Conversation, Emit, Pause

NAME = "tour"
"""The short name of its lab."""
_FILES = "tour-*.yaml"
_KEPT = 8  # older files, with which a session may have begun that is restored later


async def tour(talk: "Conversation", wish: Tour, emit: "Emit", _pause: "Pause") -> None:
    """Open the tour with the newest work that is kept and not finished."""
    from rdmalab.scenario.files import found

    path = talk.diary.path(found(NAME))
    try:
        folder = state_path()
        recorded = talk.diary.path("", 1)  # of a session that is restored
        work = Path(recorded) if recorded else _chosen(talk, path, folder, again=wish.again)
        for old in folder.glob(_FILES):
            if _number(old) < _number(work) - _KEPT:
                old.unlink(missing_ok=True)
    except OSError as wrong:
        talk.tell([plain(f"the tour is not kept: {wrong.strerror or wrong}", WARN)], emit)
        open_lab(talk, Load(path), path, emit)
        return
    open_lab(talk, Load(path, work=str(work)), path, emit)
    if (lab := talk.exercise) is not None:
        newer = _numbered(folder, _number(work) + 1)
        lab.autosave = lambda: _kept(lab, newer)


def _chosen(talk: "Conversation", path: str, folder: Path, *, again: bool) -> Path:
    """The newest work that is not finished; a new one if there is none, or `again`."""
    kept = sorted(folder.glob(_FILES), key=_number)
    if kept and not again and _goes_on(talk, path, kept[-1]):
        return kept[-1]
    work = _numbered(folder, _number(kept[-1]) + 1 if kept else 0)
    _begin(talk, path, work)
    return work


def _number(file: Path) -> int:
    number = file.stem.rpartition("-")[2]
    return int(number) if number.isdecimal() else -1


def _numbered(folder: Path, number: int) -> Path:
    return folder / f"tour-{number}.yaml"


def _opened(talk: "Conversation", path: str, work: Path | None) -> "LabSession":
    from rdmalab.classroom.lab_session import LabSession
    from rdmalab.scenario.loader import read

    given = read(str(work)) if work is not None else ""
    return LabSession.begun(read(path), path, talk.lab.session.vocabulary, "", given, str(work))


def _goes_on(talk: "Conversation", path: str, work: Path) -> bool:
    """Whether this work is of this tour, can be read, and has a task left."""
    from rdmalab.classroom.lab_session import WrongWork
    from rdmalab.scenario.source import FileError

    try:
        lab = _opened(talk, path, work)
    except (FileError, WrongWork):
        return False
    lab.session.dispose()
    return lab.open_task is not None


def _begin(talk: "Conversation", path: str, work: Path) -> None:
    lab = _opened(talk, path, None)
    _write(lab, work)
    lab.session.dispose()


def _write(lab: "LabSession", file: Path) -> None:
    from rdmalab.classroom import submission

    disk.write(str(file), submission.written(lab.so_far()).encode(), submission.is_one)


def _kept(lab: "LabSession", file: Path) -> str:
    """Keep the work; returns why that failed, empty if it did not."""
    try:
        _write(lab, file)
    except OSError as wrong:
        return f"the tour is not kept any more: {wrong.strerror or wrong}"
    return ""
