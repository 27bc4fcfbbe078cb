"""Text of a lesson or a lab beside the wire: as a strip of two or three rows, or as a page."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rdmalab.classroom.next_line import next_line
from rdmalab.scenario.reading import last_sentence, open_letters, place_in_lesson, question, reading
from rdmalab.shell import lab_text
from rdmalab.shell.lesson import answered, coming_text, following_lesson, judged, read_so_far
from rdmalab.shell.output_format import NOTE_MARGIN
from rdmalab.shell.reply_text import say
from rdmalab.shell.styled_text import Line, fold, paragraphs, plain, shown, text_of
from rdmalab.tui.content import click, style
from rdmalab.views import fmt
from rdmalab.views.columns import Meaning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdmalab.classroom.grade_document import Result
    from rdmalab.classroom.lab_session import LabSession
    from rdmalab.classroom.model import Task
    from rdmalab.scenario.runner import Runner
    from rdmalab.session.lines import Reply
    from rdmalab.tui.world_view import WorldView

_DIM, _VERB, _STRONG = style(Meaning.DIM), style(Meaning.EVENT), "bold"
_GOOD, _BAD, _NOW = style(Meaning.OK), style(Meaning.FAILED), style(Meaning.CURRENT)
_BAR = 16  # cells of the bar of progress


# --------------------------------------------------------------------------- the strip
def strip(view: WorldView, width: int) -> list[Line]:
    """The note that was read and the one of F8, in three rows at most; or the task and its line."""
    if (lab := view.model.exercise) is not None:
        return _task_strip(lab, width)
    if (walk := view.model.walk) is None:
        return []

    page = reading(walk)
    answers = " ".join([*page.revealed, *page.after])
    asked = page.before if page.revealed else page.stop
    if answers and (wrong := walk.wrong_at(asked)):
        answers = f"{text_of(judged(wrong, is_right=False))} {answers}"
    seen = answers or (page.before.text if page.before else page.about)
    if not walk.ok:
        text = walk.results[-1].text(walk.scenario.path)
        return _rows("failed", _BAD, text.replace("\n", "  "), width)
    is_here = not view.model.is_in_past
    if walk.over and is_here:
        last = page.stop.text if page.stop else ""
        return [*_seen(answers if page.after else last, width), _end(walk)]
    label = "F8" if is_here else "now"
    text = page.stop.text if page.stop else page.about
    if page.stop is not None and page.stop.step.choices:  # the prompt has the whole question
        text = question(page.stop)[1]
        if letters := open_letters(walk) if is_here else "":
            label, text = "asked", f"{text}  {fmt.either(letters)} answers, F8 goes on"
    read = _rows(label, _VERB, text, width)
    return [*_seen(seen, width), *read] if len(read) < 2 and seen else read


def _seen(text: str, width: int) -> list[Line]:
    """A text that was read: in two rows if it ends there, else in one."""
    whole = _rows("seen", _DIM, text, width, 3)
    return whole if len(whole) <= 2 else _rows("seen", _DIM, text, width, 1)


def _rows(label: str, style: str, text: str, width: int, most: int = 2) -> list[Line]:
    """The text in rows beside its label; the last one says if more would follow."""
    room = max(8, width - NOTE_MARGIN)
    rows = fold(plain(" ".join(text.split())), room, 0)
    if len(rows) > most:
        rows = [*rows[: most - 1], [("", text_of(rows[most - 1])[: room - 2] + " …")]]
    labels = [label.ljust(NOTE_MARGIN), *[" " * NOTE_MARGIN] * len(rows)]
    return [[(style, text), *row] for text, row in zip(labels, rows, strict=False)]


def _task_strip(lab: LabSession, width: int) -> list[Line]:
    task = lab.open_task
    if task is None:
        last = (paragraphs(lab.lab.document.after or "") or [lab_text.ALL_DONE])[-1]
        title = f"{lab_text.points_text(lab)}.  {shown(lab.lab.document.title)}"
        return [*_rows("done", _GOOD, title, width, 1), *_rows("next", _GOOD, last, width, 1)]
    line = next_line(lab)
    first = next(iter(paragraphs(task.ask or "")), "")
    if task.is_asked:
        question, how = last_sentence(first), lab_text.how_to_answer(task)
        ways = (", ".join(lab_text.choices(task)), how, how.partition(";")[0])
        room = width - NOTE_MARGIN - len(question) - 1
        first = f"{question} {next((each for each in ways if 0 < len(each) <= room), '')}".rstrip()
    below = ("Tab", _VERB, line) if line else ("asked", _VERB, first)
    done = [(_VERB, "task".ljust(NOTE_MARGIN)), *lab_text.overview(lab, width - NOTE_MARGIN)]
    return [done, *_rows(*below, width, 1)]


# --------------------------------------------------------------------------- the page
def page(view: WorldView, *, lecture: int = 0, brief: bool = False) -> tuple[list[Line], int]:
    """All that there is to read, not folded, and the number of the line where the newest begins.

    lecture: the columns of one, 0: none. Its keys are named, because nothing can be typed, and what
    a step has answered is below the note, because there is no prompt. brief: no note that was read
    before.
    """
    if (lab := view.model.exercise) is not None:
        tasks = list(_tasks(lab))
        opened = (at for at, line in enumerate(tasks) if len(line) > 1 and line[1][0] == _STRONG)
        return tasks, next(opened, 0)
    if (walk := view.model.walk) is None:
        tour = "tour shows all in ten minutes, load NAME loads a lesson; F8 goes through it."
        return [[("", "No lesson is loaded.")], [("", tour)]], 0
    found, total = reading(walk), len(walk.scenario.steps)
    head: list[Line] = [
        [(_STRONG, shown(walk.scenario.title))],
        _bar(found.reached, total, f"step {found.reached} of {total}"),
    ]
    notes, newest = read_so_far(walk, brief=brief)
    is_here = not (view.model.is_in_past or (lecture and place_in_lesson(walk)[0]))
    outlook = _lecture_outlook if lecture and walk.ok else _outlook
    end = outlook(walk, is_here=is_here)
    replied = _replied(view, found.reply, lecture) if lecture else ()
    is_title = lecture and found.about  # the slide that introduces the lesson
    return [*head, *notes, [], *replied, *end], 0 if is_title else len(head) + newest


def _replied(view: WorldView, reply: Reply | None, width: int) -> Iterator[Line]:
    """The last answer of the steps that the key has run, below its line."""
    if reply is not None:
        yield [(_DIM, "> "), ("", shown(reply.text))]
        yield from say(replace(view.model.conversation.output, width=width), reply)
        yield []


def _outlook(walk: Runner, *, is_here: bool) -> Iterator[Line]:
    """Lines on how to go on, or on what has failed."""
    if not walk.ok:
        failure = walk.results[-1].text(walk.scenario.path)
        yield from ([(_BAD, shown(row))] for row in failure.splitlines())
    elif not is_here:
        yield [(_VERB, "F8 steps  "), ("", "through the past; goto end returns to the lesson")]
    elif _is_apart(walk):
        yield [(_VERB, f"switch {walk.results[-1].branch}  "), ("", "returns to the lesson")]
    elif letters := open_letters(walk):
        yield [(_VERB, f"{fmt.either(letters)}  "), ("", "answers, F8 goes on")]
    elif walk.coming is not None:
        yield [(_VERB, "F8 "), ("", shown(coming_text(walk)))]
    else:
        yield _met(walk)
        yield _end(walk)


def _lecture_outlook(walk: Runner, *, is_here: bool) -> Iterator[Line]:
    """Line that says what PgDn does."""
    name = following_lesson(walk.scenario.path)
    if is_here and walk.coming is None:
        yield [] if _is_apart(walk) else _met(walk)
        yield [(_VERB, "PgDn  "), ("", f"the next lesson: {name}")] if name else []
        return
    found = reading(walk)
    is_open = found.stop is not None and found.stop.step.choices and not found.after
    does = coming_text(walk) if is_here else "the next note"
    yield [(_VERB, "PgDn  "), ("", shown("the answer" if is_open else does))]


def _is_apart(walk: Runner) -> bool:
    """Whether the lesson is over, and the session on a branch that left it before its end."""
    return walk.over and reading(walk).reached < walk.position


def _met(walk: Runner) -> Line:
    steps = [result.step.step for result in walk.results]
    count = sum(len(step.expect or ()) + len(step.wire or ()) for step in steps)
    return [(_GOOD, "✓ The end. "), ("", f"{fmt.count(count, 'expectation')} met.")]


def _end(walk: Runner) -> Line:
    """The way on from the end of a lesson."""
    name = following_lesson(walk.scenario.path)
    on: Line = [(_VERB, "next".ljust(NOTE_MARGIN))]
    if name:
        on += [(f"{_VERB} {click('say', f'load {name}')}", f"load {name}"), ("", "  or  ")]
    return [*on, (f"{_VERB} {click('lessons')}", "lessons"), ("", " lists them all")]


def _tasks(lab: LabSession) -> Iterator[Line]:
    document, results = lab.lab.document, lab.latest.results
    done = sum(result.passed is True for result in results)
    yield [(_STRONG, shown(document.title))]
    if document.guided:
        yield _bar(done, len(results), f"{done} of {len(results)} tasks")
        yield from [[], *_guided(lab)]
    else:
        first, *rest = lab_text.task_lines(lab, lab.latest)
        yield _bar(lab.latest.score, lab.latest.of, text_of(first))
        yield from [[], *rest, [], *lab_text.goal_lines(lab)]


def _guided(lab: LabSession) -> Iterator[Line]:
    """All tasks with their signs, and the text of the open one below its title."""
    document, current = lab.lab.document, lab.open_task
    for task, result in zip(document.tasks, lab.latest.results, strict=True):
        title = shown(task.title or task.id)
        is_wrong = result.passed is False and task.id in lab.answers
        sign = (_NOW, "● ") if task is current else (_DIM, "· ")
        sign = (_BAD, "✗ ") if is_wrong else (_GOOD, "✓ ") if result.passed else sign
        yield [sign, (_STRONG if task is current else _DIM, title)]
        if task is current:
            yield from [*_open_text(lab, task, result), []]
    if current is None:
        yield from [[], *answered(document.after or "All tasks are done.")]


def _open_text(lab: LabSession, task: Task, result: Result) -> Iterator[Line]:
    if task.id in lab.answers:
        yield from lab_text.wrong_answer(result)
    line = next_line(lab)
    yield from lab_text.asked_lines(task, question_only=task.is_asked and not line)
    if line:
        yield [(_VERB, "  Tab writes  "), ("", shown(line))]


def _bar(done: float, total: int, text: str) -> Line:
    full = int(_BAR * done / max(1, total))
    return [(_GOOD, "█" * full), (_DIM, "░" * (_BAR - full)), ("", f"  {text}")]
