"""Carries out the words of a lab: open it, show its tasks, give hints, take answers, submit."""

import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rdmalab import disk
from rdmalab.command import UserError
from rdmalab.grammar.text import in_quotes
from rdmalab.grammar.tokens import is_closed, scan
from rdmalab.shell import lab_text
from rdmalab.shell.output_format import NOTE_PAGE
from rdmalab.shell.styled_text import Line, plain, shown
from rdmalab.shell.tables import DIM, GOOD, WARN
from rdmalab.spec.causes import cause_rows
from rdmalab.workbench.files import Load
from rdmalab.workbench.lab_words import GiveAnswer, MakeLab, Submit, TakeHint, TaskList

if TYPE_CHECKING:
    from rdmalab.classroom.lab_session import LabSession
    from rdmalab.shell.evaluation import Evaluation

CarryOut = Callable[[str], Awaitable[None]]
LabHandler = Callable[["Evaluation", Any], Awaitable[None]]
TOUR = "tour"
"""The short name of the lab of the tour."""
_DIGITS = "123456789"
_NO_LAB = "no lab is open: load labs/sq-full student=ID"


def open_lab(evaluation: "Evaluation", request: Load, path: str) -> None:
    """Replace the world by that of a lab, for one student, and continue work that is given."""
    from rdmalab.classroom.lab_session import LabSession
    from rdmalab.scenario.loader import read

    text = read(path)
    work = evaluation.log.path(request.work, 1) if request.work else ""
    given = read(work) if work else ""
    lab = LabSession.begun(text, path, request.student, given, work)
    enter_lab(evaluation, lab, [(path, text), *([(work, given)] if given else [])])


def enter_lab(evaluation: "Evaluation", lab: "LabSession", files: list[tuple[str, str]]) -> None:
    """Replace the world by that of a lab. files: path and text of the files it was made of.

    UserError if they are not those of the session that is restored.
    """
    from rdmalab.classroom.owner import ANYONE

    if wrong := "".join(filter(None, [evaluation.log.loaded(*each) for each in files])):
        raise UserError(wrong)
    before = evaluation.exercise
    if before is None or (before.lab.source.path, before.student) != (files[0][0], lab.student):
        left_lab(evaluation)
    lab.session.default_node = evaluation.lab.session.default_node
    evaluation.conversation.start_over(lab.session)
    evaluation.conversation.exercise = lab
    document = lab.lab.document
    student = f"  ({lab.student})" if lab.student != ANYONE else ""
    evaluation.tell([plain(f"{document.title}{student}", lab_text.TITLE)])
    evaluation.tell(list(lab_text.nameless_lines(lab)))
    about = [] if _on_page(evaluation) else list(lab_text.prose(document.about or ""))
    evaluation.tell([[], *about, []] if about else [])
    work = files[-1][0]
    evaluation.tell([plain(f"{work}, {foul}", WARN) for foul in lab.skipped])
    if document.guided or _on_page(evaluation):  # the page has the list of tasks
        is_brief = document.guided and _on_page(evaluation)
        evaluation.tell(list(lab_text.current_lines(lab, brief=is_brief)))
    else:
        evaluation.tell(list(lab_text.task_lines(lab, lab.grade())))
    words = "task · hint" if document.guided else "task · hint TASK · answer TASK TEXT · submit"
    evaluation.tell([plain(words, DIM), *lab_text.rule_lines(lab)])
    evaluation.tell([plain(price, WARN) for price in lab.prices])
    evaluation.judge(ok=True)


def left_lab(evaluation: "Evaluation") -> None:
    """Say that the work in a lab that is open stays, before another world takes its place."""
    from rdmalab.scenario.files import short_name

    lab = evaluation.exercise
    if lab is not None and lab.autosave is not None:
        name = short_name(lab.lab.source.path)
        back = TOUR if name == TOUR else "lab"
        evaluation.tell([plain(f"Your work in {name} is kept: {back} returns to it.", DIM)])


def _on_page(evaluation: "Evaluation") -> bool:
    """Whether a page beside the prompt shows what the tasks ask."""
    return evaluation.output.notes_beside >= NOTE_PAGE


async def _task(evaluation: "Evaluation", request: TaskList) -> None:
    if evaluation.exercise is None and evaluation.lesson is not None:
        from rdmalab.shell.lesson import read_so_far

        runner = evaluation.lesson.runner
        place = f"  {runner.position} of {len(runner.scenario.steps)}"
        title: Line = [(lab_text.TITLE, shown(runner.scenario.title)), (DIM, place)]
        evaluation.tell([title, *read_so_far(runner)[0]])
        return
    lab = _opened(evaluation)
    grade = lab.grade()
    if not request.name:
        evaluation.tell([*lab_text.task_lines(lab, grade), *lab_text.rule_lines(lab)])
    else:
        evaluation.tell(list(lab_text.task_page(lab, lab.task(request.name))))


def _opened(evaluation: "Evaluation") -> "LabSession":
    if evaluation.exercise is None:
        raise UserError(_NO_LAB)
    return evaluation.exercise


# --------------------------------------------------------------------------- hints and answers
async def _hint(evaluation: "Evaluation", request: TakeHint) -> None:
    lab = _opened(evaluation)
    task = lab.task(request.task) if request.task else lab.open_task
    if task is None:
        evaluation.tell([plain("all tasks are done", GOOD)])
    else:
        evaluation.tell(list(lab_text.hint_lines(lab, task, sure=request.sure)))


async def _answer(evaluation: "Evaluation", request: GiveAnswer) -> None:
    lab = _opened(evaluation)
    ids, question = {each.id for each in lab.lab.document.tasks}, lab.open_question
    name, text = request.task, request.text
    if name in ids and not text:
        raise UserError(f"answer {name}: write the answer after the name of the task")
    if name not in ids and question is not None:
        name, text = question.id, f"{name} {text}".strip()
    elif name not in ids and not text:
        raise UserError("no question is open: task lists the tasks")
    lab.answer(name, text)
    evaluation.tell(list(lab_text.answer_lines(lab, name)))


async def _submit(evaluation: "Evaluation", request: Submit) -> None:
    from rdmalab.classroom import submission
    from rdmalab.classroom.owner import file_advice

    lab = _opened(evaluation)
    evaluation.tell(list(lab_text.task_lines(lab, lab.grade(replayed=True))))
    work, named = lab.submission(), request.file
    if not named:
        word = submission.word_of(work)
        copy = evaluation.conversation.copy
        copied = f"{copy(word)}. " if copy is not None else ""
        first = "" if lab.is_nameless else "Hand in this word; "
        file = "FILE" if lab.is_nameless else submission.free_file(work) or "FILE"
        words = f"{copied}{first}submit {file} writes a file instead."
        evaluation.tell([plain(words, GOOD)])
        evaluation.emit([("", word)])
    else:
        named = named if "." in named else f"{named}.yaml"
        kind, is_own = submission.replaceable(work)
        own = submission.free_file(work, named)
        _write(named, submission.written(work).encode(), kind, is_own, own)
        if lab.is_nameless:
            evaluation.tell([plain(f"{named}: written", DIM)])
        else:
            evaluation.tell([plain(f"{named}: hand in this file", GOOD)])
            advice = file_advice(named, lab.student, own)
            evaluation.tell([plain(advice, DIM)] if advice else [])
        handed_out(evaluation, named)
    evaluation.tell(list(lab_text.take_over_lines(lab, named)))


def _write(
    file: str, octets: bytes, kind: str, may_replace: disk.Recognise, free: str = ""
) -> bool:
    """Write a file; returns whether it replaced one. UserError if it is not possible.

    A file of another kind is not replaced. free: a name that can be chosen then.
    """
    try:
        return disk.write(file, octets, may_replace)
    except (OSError, ValueError) as wrong:
        why = "; ".join(filter(None, disk.complaint(file, wrong, kind, free)))
        raise UserError(why) from None


def handed_out(evaluation: "Evaluation", file: str) -> None:
    """Hand a written file to the user, if the face has to; say what became of it."""
    if evaluation.conversation.hand_out is not None:
        evaluation.tell([plain(evaluation.conversation.hand_out(file), DIM)])


async def _make(evaluation: "Evaluation", request: MakeLab) -> None:
    from rdmalab.classroom.session_lab import NoLab, lab_of
    from rdmalab.scenario.field_types import as_word
    from rdmalab.scenario.files import LAB_SUFFIX
    from rdmalab.scenario.keeping import as_saved, is_unedited, marked
    from rdmalab.scenario.loader import FileError, loads

    name = as_word(Path(request.file).name.removesuffix(LAB_SUFFIX))
    try:
        text = lab_of(loads(request.session, request.file, evaluation.lab.session.vocabulary), name)
    except (FileError, NoLab) as wrong:
        raise UserError(f"{request.file}: {wrong}") from None
    replaced = _write(request.file, marked(text), as_saved("lab"), is_unedited)
    instead = "replaced the previous lab; " if replaced else ""
    words = f"{request.file}: {instead}edit it, then: rdmalab lab check {request.file}"
    evaluation.tell([plain(words, GOOD)])
    handed_out(evaluation, request.file)


LAB_HANDLERS: dict[type, LabHandler] = {
    MakeLab: _make,
    TaskList: _task,
    TakeHint: _hint,
    GiveAnswer: _answer,
    Submit: _submit,
}
"""Function that carries out each request of the commands of a lab."""


async def in_lab(
    evaluation: "Evaluation", line: str, carry_out: CarryOut | None = None
) -> None:  # fmt: skip
    """Evaluate a line as far as the rules of an open lab allow it; keep it for the submission.

    carry_out: runs the line, and calls `follow`; None: that of the evaluation.
    """
    line = short_answer(evaluation, line)
    lab, session = evaluation.exercise, evaluation.lab.session
    task = lab.open_task if lab is not None else None
    evaluation.output.hides_cause = task is not None and lab is not None and task is lab.held_for
    if lab is not None and session is lab.session:
        if foul := lab.refusal(session, line) or lab.refusal_at_limit(line):
            evaluation.report_error(foul)
            return
        evaluation.follow = lab.follow
    await (carry_out or evaluation.carry_out)(line)
    if lab is not None and evaluation.exercise is lab:
        before = lab.latest
        lab.keep(session, line)
        if evaluation.lab.session is lab.session:
            if lab.lab.document.guided:
                evaluation.tell(list(lab_text.progress(lab, before, brief=_on_page(evaluation))))
            evaluation.tell(list(lab_text.after_line(lab)))
        if lab.is_done:
            from rdmalab.classroom.progress import mark_done
            from rdmalab.scenario.files import short_name

            mark_done(short_name(lab.lab.source.path))
        if lab.autosave is not None and (wrong := lab.autosave()):
            lab.autosave = None
            evaluation.tell([plain(wrong, WARN)])


_ANSWER = re.compile(r"\s*answer\s+(?P<all>(?:(?P<task>\S+)\s+)?(?P<text>\S.*?))\s*", re.DOTALL)


def whole_essay(evaluation: "Evaluation", line: str) -> str:
    """An answer to an essay with all of its text in quotes; any other line as it is.

    In a text for people, `;` divides no commands and `#` begins no comment.
    """
    lab, found = evaluation.exercise, _ANSWER.fullmatch(line)
    if lab is None or found is None:
        return line
    tasks = {each.id: each for each in lab.lab.document.tasks}
    named = tasks.get(found["task"])
    task, text = (named or lab.open_question), found["text" if named else "all"]
    first, *others = scan(text)
    if task is None or not task.essay or text in tasks or (is_closed(first) and not others):
        return line
    return f"answer {task.id} {in_quotes(text)}"


def short_answer(evaluation: "Evaluation", line: str) -> str:
    """The command of a word that answers the open question; any other line as it is.

    A letter or number of an answer that is offered, or the name of a cause where a text is asked. A
    letter that answers another question is no short command either: the lesson must not run on.
    An essay: see `whole_essay`.
    """
    line = whole_essay(evaluation, line)
    word = line.strip().lower().rstrip(")")
    task = evaluation.exercise.open_question if evaluation.exercise is not None else None
    if task is not None and not task.choice:
        return f"answer {task.id} {word}" if word in cause_rows() else line
    if len(word) != 1 or not word.isalnum():
        return line
    if evaluation.exercise is not None:
        from rdmalab.classroom.answers import letters

        offered, name = ("", "") if task is None else (letters(task), f"{task.id} ")
        others = {
            letter for each in evaluation.exercise.lab.document.tasks for letter in letters(each)
        }
    elif evaluation.lesson is not None:
        from rdmalab.scenario.reading import letters_before, open_letters

        offered, name = open_letters(evaluation.lesson.runner), ""
        others = letters_before(evaluation.lesson.runner)
    else:
        return line
    is_answer = word in offered or word in _DIGITS[: len(offered)]
    return f"answer {name}{word}" if is_answer or word in others else line
