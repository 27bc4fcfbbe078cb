"""Labs whose work is kept in the state directory, so that it goes on another day; also the tour.

Each time a lab is opened, its work goes to a file with the next number: a session that is restored
after a crash finds the file with which it began as it was. The first line of a file says what the
offer at the start needs, so that no YAML is read then.
"""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from rdmalab import disk
from rdmalab.command import UserError
from rdmalab.grammar.hints import quoted
from rdmalab.recovery.user_paths import state_path
from rdmalab.shell.lab_requests import TOUR, enter_lab, open_lab
from rdmalab.shell.lab_text import load_words, points_text
from rdmalab.shell.styled_text import Line, plain
from rdmalab.shell.tables import DIM, WARN
from rdmalab.spec.row import dataclass
from rdmalab.views import fmt
from rdmalab.workbench.files import Load
from rdmalab.workbench.lab_words import ReturnToLab, Tour

if TYPE_CHECKING:
    from rdmalab.classroom.lab_session import LabSession
    from rdmalab.shell.evaluation import Evaluation

_KEPT = 8  # older files of a lab, with which a session may have begun that is restored later
_LABS = 20  # labs that are kept, each of one student
_HEAD = 2_000  # bytes that its first line has at most
OF_THE_SHELL = ("check", "draw", "new", "notes", "publish", "try")
"""The commands of `rdmalab lab`, which make labs."""
_ODD = re.compile(r"[^A-Za-z0-9.-]+")


@dataclass(frozen=True, slots=True)
class KeptLab:
    """The newest work of a student in a lab.

    path: of the lab. name: for `load`. standing: `3 of 10 points`. is_open: something is left.
    """

    file: Path
    path: str
    name: str
    student: str
    standing: str
    is_open: bool

    @property
    def title(self) -> str:
        """`labs/sq-full (s1), 3 of 10 points`."""
        student = f" ({self.student})" if self.student else ""
        return f"{self.name}{student}, {self.standing}"


# --------------------------------------------------------------------------- the words
async def tour(evaluation: "Evaluation", request: Tour) -> None:
    """Open the tour with the newest work that is kept and not finished."""
    from rdmalab.scenario.files import found

    open_kept(evaluation, Load(found(TOUR), again=request.again), found(TOUR))


async def return_to_lab(evaluation: "Evaluation", request: ReturnToLab) -> None:
    """Open the newest lab that is kept and not finished, or that of a name and a student."""
    if evaluation.exercise is not None and not request.name:
        raise UserError("a lab is open: task lists its tasks")
    labs = kept()
    same = [
        each for each in labs
        if request.name in ("", each.name, each.name.rpartition("/")[2])
        and request.student in ("", each.student)
    ]  # fmt: skip
    if not request.name:  # what is finished, such as the tour, is not what one goes on with
        same.sort(key=lambda each: not each.is_open)
    recorded = evaluation.log.path("")  # of a session that is restored
    if not same and not recorded:
        known = "; ".join(each.title for each in labs)
        what = (
            f"no work in a lab {quoted(request.name)} is kept" if request.name else "no lab is kept"
        )
        hint = f"kept: {known}" if known else "load labs/by-hand student=ID opens one"
        if request.name in OF_THE_SHELL:
            hint = f"rdmalab lab {request.name} is a command of the shell"
        raise UserError(f"{what}. {hint}")
    path = recorded or same[0].path
    open_kept(evaluation, Load(path, student=same[0].student if same else ""), path)


def open_kept(evaluation: "Evaluation", request: Load, path: str) -> None:
    """Open a lab with the work of this student that is kept, else at its beginning; and keep it."""
    path = evaluation.log.path(path)
    try:
        folder = state_path()
        lab, work = _found_work(evaluation, request, path, folder)
        newer = _next_file(folder, path, lab)
        _write(lab, newer)  # another process that opens this lab takes the next number
    except OSError as wrong:
        evaluation.tell([plain(f"the lab is not kept: {wrong.strerror or wrong}", WARN)])
        open_lab(evaluation, request, path)
        return
    enter_lab(evaluation, lab, [(path, lab.text), (str(work), _text(work))])
    lab.autosave = lambda: _kept(lab, newer)
    evaluation.tell(list(_goes_on_from(lab)))


def _goes_on_from(lab: "LabSession") -> Iterator[Line]:
    """Lines on what was done already, and how to begin again; none for a tour, which shows it."""
    if lab.work.commands and not lab.lab.document.guided:
        student = _student(lab)
        again = f"{load_words(lab)} again" + (f" student={student}" if student else "")
        count = fmt.count(len(lab.lines), "line")
        yield plain(f"Your work of {count} goes on. To begin again: {again}", DIM)


# --------------------------------------------------------------------------- what is kept
def kept() -> list[KeptLab]:
    """The labs that are kept, newest first."""
    found: dict[str, KeptLab] = {}
    with suppress(OSError):
        for file in sorted(_files(state_path()), key=_used_ns, reverse=True):
            stem = file.stem.rpartition("-")[0]
            if stem not in found and (lab := _read(file)) is not None:
                found[stem] = lab
    return list(found.values())


def offer() -> str:
    """The message about the newest work that is not finished; empty if there is none."""
    lab = next((each for each in kept() if each.is_open), None)
    if lab is None:
        return ""
    if lab.name == TOUR:
        return f"The tour is kept, {lab.standing}: tour goes on there."
    return f"Your work in {lab.title}, is kept: lab goes on there."


def _files(folder: Path) -> Iterator[Path]:
    yield from folder.glob(f"{TOUR}-*.yaml")
    yield from folder.glob("lab-*.yaml")


def _used_ns(file: Path) -> int:
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return 0


def _read(file: Path) -> KeptLab | None:
    """The work of which the first line of a file speaks; None if it is none of ours."""
    try:
        head = json.loads(disk.beginning(file, _HEAD).split(b"\n")[0].removeprefix(b"# "))
        path, name, student, points = (
            str(head[key]) for key in ("path", "name", "student", "standing")
        )
        return KeptLab(file, path, name, student, points, bool(head["open"]))
    except (OSError, ValueError, LookupError, TypeError):
        return None


# --------------------------------------------------------------------------- files
def _name(path: str) -> str:
    from rdmalab.scenario.files import short_name

    return short_name(path)


def _stem(path: str, student: str) -> str:
    """Beginning of the names of the files of a lab and a student."""
    if _name(path) == TOUR and not student:
        return TOUR
    label = _ODD.sub("_", f"{Path(_name(path)).name.partition('.')[0]}-{student}")[:40]
    digest = sha256(f"{Path(path).absolute()}\0{student}".encode()).hexdigest()
    return f"lab-{label}-{digest[:8]}"


def _number(file: Path) -> int:
    number = file.stem.rpartition("-")[2]
    return int(number) if number.isdecimal() else -1


def _text(file: Path) -> str:
    from rdmalab.scenario.loader import read

    return read(str(file))


def _found_work(
    evaluation: "Evaluation", request: Load, path: str, folder: Path
) -> "tuple[LabSession, Path]":
    """The lab with the work that is named, else the newest that is kept, else a new one."""
    from rdmalab.classroom.lab_session import WrongWork
    from rdmalab.scenario.source import FileError

    if named := evaluation.log.path(request.work, 1):  # also that of a session that is restored
        return _opened(evaluation, path, request.student, Path(named)), Path(named)
    files = folder.glob(f"{_stem(path, request.student)}-*.yaml")
    newest = None if request.again else max(files, key=_used_ns, default=None)
    if newest is not None:
        with suppress(FileError, WrongWork):
            lab = _opened(evaluation, path, request.student, newest)
            if lab.open_task is not None or not lab.lab.document.guided:
                return lab, newest
            lab.session.dispose()
    lab = _opened(evaluation, path, request.student, None)
    work = _next_file(folder, path, lab)
    _write(lab, work)
    return lab, work


def _next_file(folder: Path, path: str, lab: "LabSession") -> Path:
    """The next file of a lab; the oldest are removed."""
    stem = _stem(path, _student(lab))
    files = sorted(folder.glob(f"{stem}-*.yaml"), key=_number)
    for old in files[:-_KEPT]:
        old.unlink(missing_ok=True)
    labs = sorted(folder.glob("lab-*.yaml"), key=_used_ns, reverse=True)
    for other in list(dict.fromkeys(each.stem.rpartition("-")[0] for each in labs))[_LABS:]:
        for old in folder.glob(f"{other}-*.yaml"):
            old.unlink(missing_ok=True)
    return folder / f"{stem}-{_number(files[-1]) + 1 if files else 0}.yaml"


def _student(lab: "LabSession") -> str:
    from rdmalab.classroom.owner import ANYONE

    return "" if lab.student == ANYONE else lab.student


def _opened(evaluation: "Evaluation", path: str, student: str, work: Path | None) -> "LabSession":
    from rdmalab.classroom.lab_session import LabSession
    from rdmalab.scenario.loader import read

    given = _text(work) if work is not None else ""
    return LabSession.begun(read(path), path, student, given, str(work))


def _write(lab: "LabSession", file: Path) -> None:
    from rdmalab.classroom import submission

    path, unit = lab.lab.source.path, "tasks" if lab.lab.document.guided else "points"
    is_begun = bool(lab.work.commands or lab.answers or lab.hints)
    head = json.dumps({
        "path": str(Path(path).absolute()), "name": _name(path), "student": _student(lab),
        "standing": f"{points_text(lab)} {unit}", "open": is_begun and lab.open_task is not None,
    })  # fmt: skip
    text = f"# {head}\n{submission.written(lab.kept)}"
    disk.write(str(file), text.encode(), submission.is_one)


def _kept(lab: "LabSession", file: Path) -> str:
    """Keep the work; returns why that failed, empty if it did not."""
    try:
        _write(lab, file)
    except OSError as wrong:
        return f"the lab is not kept any more: {wrong.strerror or wrong}"
    return ""
