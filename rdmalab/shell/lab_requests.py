"""Carries out the words of a lab: open it, show its tasks, give hints, take answers, submit."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rdmalab import disk
from rdmalab.shell.lab_text import (
    TITLE,
    after_line,
    answer_lines,
    current_lines,
    hint_lines,
    progress,
    task_lines,
    task_page,
)
from rdmalab.shell.output_format import NOTE_PAGE
from rdmalab.shell.styled_text import Line, paragraphs, plain, shown
from rdmalab.shell.tables import DIM, GOOD, PROSE, WARN
from rdmalab.workbench.files import Load
from rdmalab.workbench.lab_words import GiveAnswer, MakeLab, Submit, TakeHint, TaskList

if TYPE_CHECKING:
    from rdmalab.classroom.lab_session import LabSession
    from rdmalab.classroom.model import Task
    from rdmalab.shell.conversation import Conversation, Emit, Pause

CarryOut = Callable[[str], Awaitable[int]]
LabHandler = Callable[["Conversation", Any, "Emit", "Pause"], Awaitable[None]]
TOUR = "tour"
"""The short name of the lab of the tour."""
_DIGITS = "123456789"
_NO_LAB = "no lab is open: load labs/sq-full student=ID"


def open_lab(talk: "Conversation", wish: Load, path: str, emit: "Emit") -> None:
    """Replace the world by that of a lab, for one student, and continue work that is given."""
    from rdmalab.classroom.lab_session import LabSession, WrongWork
    from rdmalab.classroom.playing import BrokenLab
    from rdmalab.scenario.loader import FileError, read

    try:
        text = read(path)
        work = talk.diary.path(wish.work, 1) if wish.work else ""
        given = read(work) if work else ""
        vocabulary = talk.lab.session.vocabulary
        lab = LabSession.begun(text, path, vocabulary, wish.student, given, work)
    except (FileError, BrokenLab, WrongWork) as error:
        talk.report_error(str(error), emit)
        return
    enter_lab(talk, lab, [(path, text), *([(work, given)] if given else [])], emit)


def enter_lab(
    talk: "Conversation", lab: "LabSession", files: list[tuple[str, str]], emit: "Emit"
) -> bool:
    """Replace the world by that of a lab. files: path and text of those it was made of.

    Returns whether they are those of the session that is restored, if one is.
    """
    from rdmalab.classroom.lab_session import ANYONE

    if wrong := "".join(filter(None, [talk.diary.loaded(*each) for each in files])):
        talk.report_error(wrong, emit)
        return False
    before = talk.exercise
    if before is None or (before.lab.source.path, before.student) != (files[0][0], lab.student):
        left_lab(talk, emit)
    lab.session.default_node = talk.lab.session.default_node
    talk.start_over(lab.session)
    talk.exercise = lab
    document = lab.lab.document
    student = f"  ({lab.student})" if lab.student != ANYONE else ""
    talk.tell([plain(f"{document.title}{student}", TITLE)], emit)
    about = [plain(text, PROSE) for text in paragraphs(document.about or "")]
    talk.tell([] if _on_page(talk) else about, emit)
    work = files[-1][0]
    talk.tell([plain(f"{work}, line {foul}", WARN) for foul in lab.skipped], emit)
    now = (
        current_lines(lab, brief=_on_page(talk))
        if document.guided
        else task_lines(lab, lab.grade())
    )
    talk.tell(list(now), emit)
    words = "task · hint" if document.guided else "task · hint TASK · answer TASK TEXT · submit"
    talk.tell([plain(words, DIM), *(plain(price, WARN) for price in lab.prices)], emit)
    talk.judge(ok=True)
    return True


def left_lab(talk: "Conversation", emit: "Emit") -> None:
    """Say that the work in a lab that is open stays, before another world takes its place."""
    from rdmalab.scenario.files import short_name

    if talk.exercise is not None and talk.exercise.autosave is not None:
        name = short_name(talk.exercise.lab.source.path)
        back = TOUR if name == TOUR else "lab"
        talk.tell([plain(f"Your work in {name} is kept: {back} returns to it.", DIM)], emit)


def _on_page(talk: "Conversation") -> bool:
    """Whether a page beside the prompt shows what the tasks ask."""
    return talk.voice.notes_beside >= NOTE_PAGE


async def _task(talk: "Conversation", wish: TaskList, emit: "Emit", _pause: "Pause") -> None:
    if talk.exercise is None and talk.lesson is not None:
        from rdmalab.shell.lesson import read_so_far

        runner = talk.lesson.runner
        place = f"  {runner.position} of {len(runner.scenario.steps)}"
        title: Line = [(TITLE, shown(runner.scenario.title)), (DIM, place)]
        talk.tell([title, *read_so_far(runner)[0]], emit)
        return
    if (lab := _opened(talk, emit)) is None:
        return
    grade = lab.grade()
    if not wish.name:
        talk.tell(list(task_lines(lab, grade)), emit)
    elif (task := _named(talk, lab, wish.name, emit)) is not None:
        talk.tell(list(task_page(lab, task)), emit)


def _opened(talk: "Conversation", emit: "Emit") -> "LabSession | None":
    if talk.exercise is None:
        talk.report_error(_NO_LAB, emit)
    return talk.exercise


# --------------------------------------------------------------------------- hints and answers
async def _hint(talk: "Conversation", wish: TakeHint, emit: "Emit", _pause: "Pause") -> None:
    if (lab := _opened(talk, emit)) is None:
        return
    if not wish.task and lab.open_task is None:
        talk.tell([plain("all tasks are done", GOOD)], emit)
        return
    task = _named(talk, lab, wish.task, emit) if wish.task else lab.open_task
    if task is not None:
        talk.tell(list(hint_lines(lab, task, sure=wish.sure)), emit)


def _named(talk: "Conversation", lab: "LabSession", name: str, emit: "Emit") -> "Task | None":
    from rdmalab.classroom.lab_session import WrongTask

    try:
        return lab.task(name)
    except WrongTask as wrong:
        talk.report_error(str(wrong), emit)
        return None


async def _answer(talk: "Conversation", wish: GiveAnswer, emit: "Emit", _pause: "Pause") -> None:
    from rdmalab.classroom.lab_session import WrongTask

    if (lab := _opened(talk, emit)) is None:
        return
    ids, question = {each.id for each in lab.lab.document.tasks}, lab.open_question
    name, text = wish.task, wish.text
    if name in ids and not text:
        talk.report_error(f"answer {name}: write the answer after the name of the task", emit)
        return
    if name not in ids and question is not None:
        name, text = question.id, f"{name} {text}".strip()
    elif name not in ids and not text:
        talk.report_error("no question is open: task lists the tasks", emit)
        return
    try:
        lab.answer(name, text)
    except WrongTask as wrong:
        talk.report_error(str(wrong), emit)
        return
    talk.tell(list(answer_lines(lab, name)), emit)


async def _submit(talk: "Conversation", wish: Submit, emit: "Emit", _pause: "Pause") -> None:
    from rdmalab.classroom import submission

    if (lab := _opened(talk, emit)) is None:
        return
    talk.tell(list(task_lines(lab, lab.grade(replayed=True))), emit)
    work = lab.submission()
    if not wish.file:
        word = submission.word_of(work)
        copied = f"{talk.copy(word)}. " if talk.copy is not None else ""
        said = f"{copied}Hand in this word; submit FILE writes a file instead."
        talk.tell([plain(said, GOOD)], emit)
        emit([("", word)])
    else:
        named = wish.file if "." in wish.file else f"{wish.file}.yaml"
        text = submission.written(work)
        if not _written(talk, named, text, "submission", submission.is_one, emit):
            return
        talk.tell([plain(f"{named}: hand in this file", GOOD)], emit)


def _written(
    talk: "Conversation", file: str, text: str, kind: str, may_replace: disk.Recognise,
    emit: "Emit",
) -> bool:  # fmt: skip
    """Write a file; whether that was possible. A file of another kind is not replaced."""
    try:
        disk.write(file, text.encode(), may_replace)
    except disk.FileExistsAsOther:
        talk.report_error(f"{file} exists and is no {kind}; choose another name", emit)
        return False
    except (OSError, ValueError) as wrong:
        why = getattr(wrong, "strerror", None) or "no such path"
        talk.report_error(f"{file} cannot be written: {why}", emit)
        return False
    return True


async def _make(talk: "Conversation", wish: MakeLab, emit: "Emit", _pause: "Pause") -> None:
    from rdmalab.classroom.session_lab import NoLab, lab_of
    from rdmalab.scenario.files import LAB_SUFFIX
    from rdmalab.scenario.loader import FileError, loads

    name = Path(wish.file).name.removesuffix(LAB_SUFFIX)
    try:
        text = lab_of(loads(wish.session, wish.file, talk.lab.session.vocabulary), name)
    except (FileError, NoLab) as wrong:
        talk.report_error(f"{wish.file}: {wrong}", emit)
        return
    if _written(talk, wish.file, text, "lab", lambda there: b"kind: lab" in there, emit):
        talk.tell([plain(f"{wish.file}: edit it, then: rdmalab lab check {wish.file}", GOOD)], emit)


LAB_WISHES: dict[type, LabHandler] = {
    MakeLab: _make,
    TaskList: _task,
    TakeHint: _hint,
    GiveAnswer: _answer,
    Submit: _submit,
}
"""What each request of the words of a lab does."""


async def in_lab(talk: "Conversation", line: str, emit: "Emit", carry_out: CarryOut) -> int:
    """Evaluate a line as far as the rules of an open lab allow it, and keep it for the submission.

    carry_out: runs the line on this face. Returns how many of its commands ran or failed.
    """
    line = short_answer(talk, line)
    lab, session = talk.exercise, talk.lab.session
    if lab is not None and session is lab.session:
        if foul := lab.refusal(session, line) or lab.refusal_at_limit(line):
            talk.report_error(foul, emit)
            return 0
        talk.follow = lab.follow
    try:
        commands = await carry_out(line)
    finally:
        talk.follow = None
    if lab is not None and talk.exercise is lab:
        before = lab.latest
        lab.keep(session, line)
        if talk.lab.session is lab.session:
            if lab.lab.document.guided:
                talk.tell(list(progress(lab, before, brief=_on_page(talk))), emit)
            talk.tell(list(after_line(lab)), emit)
        if lab.is_done:
            from rdmalab.classroom.progress import mark_done
            from rdmalab.scenario.files import short_name

            mark_done(short_name(lab.lab.source.path))
        if lab.autosave is not None and (wrong := lab.autosave()):
            lab.autosave = None
            talk.tell([plain(wrong, WARN)], emit)
    return commands


def short_answer(talk: "Conversation", line: str) -> str:
    """The command of a letter or number that answers the open question; any other line as it is."""
    word = line.strip().lower().rstrip(")")
    if len(word) != 1 or not word.isalnum():
        return line
    if talk.exercise is not None:
        from rdmalab.classroom.lab_session import letters

        task = talk.exercise.open_question
        offered, name = ("", "") if task is None else (letters(task), f"{task.id} ")
    elif talk.lesson is not None:
        from rdmalab.scenario.reading import open_letters

        offered, name = open_letters(talk.lesson.runner), ""
    else:
        return line
    return f"answer {name}{word}" if word in offered or word in _DIGITS[: len(offered)] else line
