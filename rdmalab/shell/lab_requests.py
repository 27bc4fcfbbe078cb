"""Carries out the words of a lab: open it, show its tasks, give hints, take answers, submit."""

from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, Any

from rdmalab import disk
from rdmalab.shell.line_end import LineEnd
from rdmalab.shell.styled_text import Line, paragraphs, plain
from rdmalab.workbench.files import Load
from rdmalab.workbench.lab_words import GiveAnswer, Submit, TakeHint, TaskList

if TYPE_CHECKING:
    from rdmalab.classroom.grade_document import Grade
    from rdmalab.classroom.lab_session import LabSession
    from rdmalab.classroom.model import Task
    from rdmalab.shell.conversation import Conversation, Emit, Pause

LabHandler = Callable[["Conversation", Any, "Emit", "Pause"], Awaitable[None]]
TITLE, DIM, GOOD, WARN = "class:title", "class:dim", "class:good", "class:warn"
_NO_LAB = "no lab is open: load labs/sq-full student=ID"
_STATE = {True: "done", False: "open", None: ""}
_STYLE = {True: GOOD, False: WARN, None: DIM}


def open_lab(talk: "Conversation", wish: Load, path: str, emit: "Emit") -> None:
    """Replace the world by that of a lab, for one student, and continue work that is given."""
    from rdmalab.classroom.lab_session import ANYONE, LabSession, WrongWork
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
    files = [(path, text), *([(work, given)] if given else [])]
    if wrong := "".join(filter(None, [talk.diary.loaded(*each) for each in files])):
        talk.report_error(wrong, emit)
        return
    lab.session.default_node = talk.lab.session.default_node
    talk.start_over(lab.session)
    talk.exercise = lab
    document = lab.lab.document
    student = f"  ({lab.student})" if lab.student != ANYONE else ""
    talk.tell([plain(f"{document.title}{student}", TITLE)], emit)
    talk.tell([plain(text) for text in paragraphs(document.about or "")], emit)
    talk.tell([plain(f"{work}, line {foul}", WARN) for foul in lab.skipped], emit)
    now = _next(lab) if document.guided else task_lines(lab, lab.grade())
    talk.tell(list(now), emit)
    words = "task · hint" if document.guided else "task · hint TASK · answer TASK TEXT · submit"
    talk.tell([plain(words, DIM)], emit)
    talk.judge(ok=True)


async def _task(talk: "Conversation", _wish: TaskList, emit: "Emit", _pause: "Pause") -> None:
    if (lab := _opened(talk, emit)) is not None:
        talk.tell(list(task_lines(lab, lab.grade())), emit)


def _opened(talk: "Conversation", emit: "Emit") -> "LabSession | None":
    if talk.exercise is None:
        talk.report_error(_NO_LAB, emit)
    return talk.exercise


def public_points(lab: "LabSession") -> int:
    """The points of the tasks that are judged here."""
    return sum(task.points for task in lab.lab.document.tasks if not task.hidden)


def standing(lab: "LabSession") -> str:
    """The points so far of those that are judged here; of a guided lab its tasks: `3 of 8`."""
    if lab.lab.document.guided:
        passed = sum(result.passed is True for result in lab.latest.results)
        return f"{passed} of {len(lab.latest.results)}"
    return f"{lab.latest.score} of {public_points(lab)}"


def goal_lines(lab: "LabSession") -> list[Line]:
    """The goals of the present, each with whether it is met now."""
    return [
        plain(f"{'met' if met else 'not yet'}  {name}", GOOD if met else DIM)
        for name, met in lab.met.items()
    ]


def task_lines(lab: "LabSession", grade: "Grade", answered: str = "") -> Iterator[Line]:
    """A row for each task, and below the first that is open what is asked and what is missing.

    answered: the task that was answered just now; its feedback is shown, too.
    """
    if lab.lab.document.guided:
        yield from guided_lines(lab, grade, answered)
        return
    hidden = grade.of - public_points(lab)
    more = f", {hidden} hidden are judged by the instructor" if hidden else ""
    yield plain(f"{grade.lab}  {grade.score} of {public_points(lab)} points{more}", TITLE)
    shown = False
    for task, result in zip(lab.lab.document.tasks, grade.results, strict=True):
        state = "hidden" if result.hidden else _STATE[result.passed] or result.reason
        score = f"{result.score}/{result.points}"
        title = (task.announce if task.hidden else task.title) or ""
        row = f"{task.id:<14} {score:>5}  {state:<8} {title}".rstrip()
        yield [(_STYLE[result.passed], row)]
        if result.passed is False and not shown:
            shown = True
            yield from _asked(task)
            if not task.is_asked:
                yield from (plain(f"  not yet: {wrong}", DIM) for wrong in result.wrong)
        if result.passed is False and task.id == answered and result.cause is not None:
            yield plain(f"  {result.cause.help or 'That is not the answer.'}", WARN)
    for foul in grade.foul:
        yield plain(f"line {foul.line} does not count: {foul.why}", WARN)


# --------------------------------------------------------------------------- hints and answers
async def _hint(talk: "Conversation", wish: TakeHint, emit: "Emit", _pause: "Pause") -> None:
    if (lab := _opened(talk, emit)) is None:
        return
    task = _named(talk, lab, wish.task, emit) if wish.task else lab.open_task
    if task is None:
        if not wish.task:
            talk.tell([plain("all tasks are done", GOOD)], emit)
        return
    number = lab.next_hint(task)
    if not number:
        text = "all hints were given" if task.hints else "this task has no hints"
        talk.tell([plain(f"{task.id}: {text}", DIM)], emit)
        return
    hint = task.hints[number - 1]
    if hint.cost and not wish.sure:
        cost = f"{hint.cost} point{'s' * (hint.cost > 1)}"
        talk.tell([plain(f"the next hint costs {cost}: hint {task.id} yes", WARN)], emit)
        return
    lab.take_hint(task.id)
    talk.tell([plain(text) for text in paragraphs(hint.text)], emit)


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
    try:
        lab.answer(wish.task, wish.text)
    except WrongTask as wrong:
        talk.report_error(str(wrong), emit)
        return
    talk.tell(list(task_lines(lab, lab.grade(), wish.task)), emit)


async def _submit(talk: "Conversation", wish: Submit, emit: "Emit", _pause: "Pause") -> None:
    from rdmalab.classroom import submission

    if (lab := _opened(talk, emit)) is None:
        return
    talk.tell(list(task_lines(lab, lab.grade())), emit)
    work = lab.submission()
    if not wish.file:
        word = submission.word_of(work)
        emit([("", word)])
        if talk.copy is not None:
            talk.copy(word)
    else:
        named = wish.file if "." in wish.file else f"{wish.file}.yaml"
        try:
            disk.write(named, submission.written(work).encode(), submission.is_one)
        except disk.FileExistsAsOther:
            talk.report_error(f"{named} exists and is no submission; choose another name", emit)
            return
        except (OSError, ValueError) as wrong:
            why = getattr(wrong, "strerror", None) or "no such path"
            talk.report_error(f"{named} cannot be written: {why}", emit)
            return
        talk.tell([plain(f"{named}: hand in this file", GOOD)], emit)


LAB_WISHES: dict[type, LabHandler] = {
    TaskList: _task,
    TakeHint: _hint,
    GiveAnswer: _answer,
    Submit: _submit,
}
"""What each request of the words of a lab does."""


async def in_lab(talk: "Conversation", line: str, emit: "Emit", pause: "Pause") -> int:
    """Evaluate a line as far as the rules of an open lab allow it, and keep it for the submission.

    Returns how many of its commands ran or failed.
    """
    lab, session = talk.exercise, talk.lab.session
    if lab is not None and (foul := lab.refusal(session, line)):
        talk.report_error(foul, emit)
        return 0
    talk.stopped_after = None
    commands = await talk.carry_out(line, emit, pause)
    if lab is not None and talk.exercise is lab and talk.end is not LineEnd.NOT_UNDERSTOOD:
        lab.keep(session, line, talk.stopped_after)
        is_here = talk.lab.session is lab.session and not lab.lab.document.guided
        turned = lab.turned(session) if is_here else []
        for name, met in turned:
            text = f"{'met' if met else 'not met any more'}  {name}"
            talk.tell([plain(text, GOOD if met else WARN)], emit)
        if lab.lab.document.guided:
            talk.tell(list(_progress(lab)), emit)
        if lab.autosave is not None and (wrong := lab.autosave()):
            lab.autosave = None
            talk.tell([plain(wrong, WARN)], emit)
    return commands


def guided_lines(lab: "LabSession", grade: "Grade", answered: str = "") -> Iterator[Line]:
    """How many tasks are done, what the next one asks, and the titles of those that follow.

    answered: the task that was answered just now; its feedback is shown, too.
    """
    current = lab.open_task
    if any(result.passed for result in grade.results):
        yield plain(f"done  {standing(lab)} tasks", GOOD)
    for task, result in zip(lab.lab.document.tasks, grade.results, strict=True):
        title = task.title or task.id
        if result.passed:
            continue
        if task is not current:
            yield plain(f"      {title}", DIM)
        else:
            yield plain(f"now   {title}", TITLE)
            yield from _asked(task)
            if task.id == answered and result.cause is not None:
                yield plain(f"  {result.cause.help or 'That is not the answer.'}", WARN)
    if current is None:
        yield from _after(lab)


def _after(lab: "LabSession") -> Iterator[Line]:
    yield plain("All tasks are done.", TITLE)
    yield from (plain(text) for text in paragraphs(lab.lab.document.after or ""))


def _asked(task: "Task") -> Iterator[Line]:
    """What a task asks, with the answers that are offered and their numbers."""
    yield from (plain(f"  {text}") for text in paragraphs(task.ask or ""))
    for number, choice in enumerate(task.choice or (), 1):
        yield plain(f"  {number}. {choice.text}")


def _progress(lab: "LabSession") -> Iterator[Line]:
    """What a line has changed in a guided lab: the tasks that are passed now, and the next one."""
    before = {result.id for result in lab.latest.results if result.passed}
    results = lab.grade().results
    passed = [result.id for result in results if result.passed]
    if set(passed) == before:
        return
    for name in passed:
        if name not in before:
            yield plain(f"done  {lab.task(name).title or name}", GOOD)
    yield from _next(lab)


def _next(lab: "LabSession") -> Iterator[Line]:
    """What the first open task of a guided lab asks."""
    task = lab.open_task
    if task is None:
        yield from _after(lab)
    else:
        yield plain(f"now   {task.title or task.id}", TITLE)
        yield from _asked(task)
