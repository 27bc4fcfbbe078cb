"""Texts of a lab: its list of tasks with signs, one task in full, the changes by a line."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rdmalab.grammar.text import in_quotes
from rdmalab.shell.styled_text import Line, paragraphs, plain
from rdmalab.shell.tables import DIM, GOOD, PROSE, WARN
from rdmalab.views import fmt

if TYPE_CHECKING:
    from rdmalab.classroom.grade_document import Grade, Result
    from rdmalab.classroom.lab_session import LabSession
    from rdmalab.classroom.model import Task

TITLE = "class:title"
ALL_DONE = "All tasks are done: submit hands in the work."
_ROW = 70  # columns of the answers of a question that share a row
_ONE_FACT = re.compile(r"(?P<goal>(?P<asked>.+) (?:[=!<>]=|[<>]) .+): (?P=asked) = (?P<now>[^=]+)")
_HOW = {"✓": GOOD, "✗": WARN, "●": TITLE, "·": DIM, "?": DIM}


def prose(text: str, margin: str = "") -> Iterator[Line]:
    """The paragraphs of a text; a line to type, which is indented, hangs where it is folded."""
    for line in paragraphs(text):
        yield plain(f"{margin}{line}", "" if line.startswith(" ") else PROSE)


# --------------------------------------------------------------------------- whose work it is
def load_words(lab: "LabSession") -> str:
    """`load labs/by-hand`, to which `student=` is added."""
    from rdmalab.scenario.files import short_name

    name = short_name(lab.lab.source.path)
    return f"load {in_quotes(name) if ' ' in name else name}"


def nameless_lines(lab: "LabSession") -> Iterator[Line]:
    """Warning that no student is named, with the line that names one; nothing if one is."""
    if lab.is_nameless:
        yield plain("No student is named: grade accepts no such work. Begin with your id:", WARN)
        yield plain(f"  {load_words(lab)} student=ID")
        if _is_drawn(lab):
            yield plain("Its values or answers are drawn for each student.", DIM)


def take_over_lines(lab: "LabSession", file: str) -> Iterator[Line]:
    """The way from a work without a student to one that `grade` accepts; nothing if one is named.

    file: of the work, empty: none is written.
    """
    if lab.is_nameless:
        written = "" if file else "write it with submit FILE, then "
        yield plain("No student is named in this work: grade rejects it as foreign.", WARN)
        yield plain(f"To take it over: {written}type, with your id:", WARN)
        yield plain(f"  {load_words(lab)} work={file or 'FILE'} student=ID")
        if _is_drawn(lab):
            yield plain("Your own values or answers may differ: do those parts again.", DIM)


def rule_lines(lab: "LabSession") -> Iterator[Line]:
    """`locked: B.qp0 · not allowed: connect`: what the lab refuses; nothing if all is allowed."""
    rules = lab.lab.document.rules
    parts = [f"locked: {' '.join(rules.lock)}"] * bool(rules.lock)
    parts += [f"not allowed: {', '.join(rules.forbid)}"] * bool(rules.forbid)
    if parts:
        yield plain(" · ".join(parts), DIM)


def _is_drawn(lab: "LabSession") -> bool:
    """Whether the lab has values or orders of answers that are drawn for a student."""
    return bool(lab.lab.params or lab.lab.orders)


# --------------------------------------------------------------------------- how much is done
def public_points(lab: "LabSession") -> int:
    """The points of the tasks that are judged here."""
    return sum(task.points for task in lab.lab.document.tasks if not task.hidden)


def points_text(lab: "LabSession") -> str:
    """The points so far of those that are judged here; of a guided lab its tasks: `3 of 8`."""
    if lab.lab.document.guided:
        passed = sum(result.passed is True for result in lab.latest.results)
        return f"{passed} of {len(lab.latest.results)}"
    return f"{lab.latest.score} of {public_points(lab)}"


def share(lab: "LabSession") -> str:
    """The share that is done of what is judged here: `43 %`."""
    of, done = public_points(lab), lab.latest.score
    if lab.lab.document.guided:
        passed = [result.passed is True for result in lab.latest.results]
        of, done = len(passed), sum(passed)
    return f"{int(100 * done / max(1, of))} %"


def signs(lab: "LabSession") -> list[tuple[str, str]]:
    """The sign of each task and its name.

    `✓` done, `✗` answered wrong, or with a failure for which the lab has words (of a refused call
    until a command succeeds), `●` the open one, `·` not yet, `?` hidden, or answered and judged by
    the instructor.
    """
    found = []
    for task, result in zip(lab.lab.document.tasks, lab.latest.results, strict=False):
        has_cause = result.cause is not None and result.cause.id in task.when_wrong
        has_failed = has_cause and not lab.is_made_good(result)
        is_wrong = result.passed is False and (task.id in lab.answers or has_failed)
        is_noted = result.passed is None and task.is_asked and task.id in lab.answers
        sign = (
            "?" if result.hidden or is_noted else "✓" if result.passed else "✗" if is_wrong else "·"
        )
        found.append(("●" if sign == "·" and task is lab.open_task else sign, task.id))
    return found


def sign_of(lab: "LabSession", task: "Task") -> str:
    """The sign of one task."""
    return next(sign for sign, name in signs(lab) if name == task.id)


def overview(lab: "LabSession", room: int) -> Line:
    """`43 %  ✓ see  ✗ explain  ● fix`, in so many columns: the names, else the open task's."""
    task, found = lab.open_task, signs(lab)
    names = "  ".join(f"{sign} {name}" for sign, name in found)
    title = task.title or task.id if task is not None else ""
    is_long = len(share(lab)) + 2 + len(names) > room or bool(task is not None and task.title)
    parts = [(sign, sign) if is_long else (sign, f"{sign} {name}  ") for sign, name in found]
    return [
        ("bold", f"{share(lab)}  "), *((_HOW[sign], text) for sign, text in parts),
        *([("", f"  {title}")] if is_long else []),
    ]  # fmt: skip


def task_lines(lab: "LabSession", grade: "Grade") -> Iterator[Line]:
    """A row for each task, then of the first that is open what is asked and what is missing."""
    if grade.reason:
        yield plain(f"stopped: {grade.reason}; what was reached before counts", WARN)
    if lab.lab.document.guided:
        yield from guided_lines(lab, grade)
        return
    hidden = grade.of - public_points(lab)
    settle = lab.lab.document.rules.settle
    more = f", {hidden} hidden are judged by the instructor" if hidden else ""
    yield plain(f"{grade.lab}  {points_text(lab)} points{more}", TITLE)
    if _is_ahead(lab, grade):
        yield plain(f"judged as if your lines ended with: {settle}", DIM)
    current = lab.open_task
    for task, result in zip(lab.lab.document.tasks, grade.results, strict=False):
        yield _row(lab, task, result)
        is_aside = not task.is_asked and task is not current
        if is_aside and lab.work.commands and lab.tells(task) and sign_of(lab, task) == "✗":
            yield from _judged_lines(result)
    for foul in grade.foul:
        yield plain(f"line {foul.line} does not count: {foul.why}", WARN)
    if current is not None:
        yield plain(f"now  {current.id}", TITLE)
        yield from asked_lines(current)
        yield from _missing(lab, current, next(r for r in grade.results if r.id == current.id))


def _is_ahead(lab: "LabSession", grade: "Grade") -> bool:
    """Whether a task may be done by an event that is planned: the judge lets time go on."""
    both = zip(lab.lab.document.tasks, grade.results, strict=False)
    is_done = any(result.passed and task.goal for task, result in both)
    return is_done and lab.session.world.agenda.next_ns() is not None


def _row(lab: "LabSession", task: "Task", result: "Result") -> Line:
    sign = sign_of(lab, task)
    is_wrong = sign == "✗" and task.is_asked
    state = "hidden" if result.hidden else _state(result, wrong=is_wrong)
    title = (task.announce if task.hidden else task.title) or ""
    score = f"{result.score}/{result.points}"
    return [(_HOW[sign], f"{sign} {task.id:<14} {score:>5}  {state:<8} {title}".rstrip())]


def _state(result: "Result", *, wrong: bool = False) -> str:
    return "done" if result.passed else result.reason or ("wrong" if wrong else "open")


def answer_lines(lab: "LabSession", name: str) -> Iterator[Line]:
    """Lines of the verdict on an answer, and the question again if wrong, else the next task."""
    grade, task = lab.grade(), lab.task(name)
    result = next(each for each in grade.results if each.id == name)
    yield from wrong_answer(result)
    yield from _right_answer(task, result, lab.answers[name])
    if task.essay:
        yield plain(f"noted: {lab.answers[name]}", DIM)
    if lab.lab.document.guided:
        if result.passed is False:
            yield plain(f"  {how_to_answer(task)}", DIM)
            return
        yield plain(f"done  {points_text(lab)} tasks", GOOD)
        yield from current_lines(lab, brief=False)
        return
    yield _row(lab, task, result)
    if result.passed is False and not lab.is_used_up(task):
        yield from asked_lines(task)
        return
    yield plain(f"{grade.lab}  {points_text(lab)} points", TITLE)
    following = lab.open_task
    if following is not None:
        yield _row(lab, following, next(r for r in grade.results if r.id == following.id))
        yield from asked_lines(following)


def goal_lines(lab: "LabSession") -> list[Line]:
    """The goals of the present, each with whether it is met now."""
    return [
        plain(f"{'met' if met else 'not yet'}  {name}", GOOD if met else DIM)
        for name, met in lab.met.items()
    ]


def task_page(lab: "LabSession", task: "Task") -> Iterator[Line]:
    """All that a student may read about one task, also before it is open."""
    from rdmalab.classroom.answers import in_words

    result = next(each for each in lab.latest.results if each.id == task.id)
    sign = sign_of(lab, task)
    title = f"  {task.title}" if task.title else ""
    state = "hidden" if result.hidden else _state(result)
    points = f"  {result.score}/{result.points}" if result.points else ""
    yield plain(f"{sign} {task.id}{title}{points}  {state}", TITLE)
    if task.hidden:
        yield plain(f"  {task.announce}")
        return
    yield from asked_lines(task)
    if task.id in lab.answers:
        yield plain(f"  your answer: {in_words(task, lab.answers[task.id])}", DIM)
        yield from () if result.passed else wrong_answer(result)
    for goal in task.goal or ():
        unmet = result.lacks(goal.question)
        if result.passed or (result.wrong and not unmet):
            yield plain(f"  met: {_goal(goal.kind, goal.question)}", GOOD)
    yield from _missing(lab, task, result)
    if (number := lab.next_hint(task)) and (left := len(task.hints) - number + 1):
        yield plain(f"  hint {task.id}: {fmt.count(left, 'hint')} left", DIM)


def _goal(kind: str, question: str) -> str:
    return question if kind == "now" else f"{kind} {question}"


def _missing(lab: "LabSession", task: "Task", result: "Result") -> Iterator[Line]:
    """The goals that are not met, and when something was done what the lab says about the cause."""
    if not task.is_asked:
        yield from (plain(f"  {_unmet(wrong)}", DIM) for wrong in result.wrong)
        is_shown = bool(lab.work.commands) and lab.tells(task) and not lab.is_made_good(result)
        yield from _judged_lines(result) if is_shown else ()


def _unmet(wrong: str) -> str:
    """A goal that is not met; of one over time whether later events can still meet it."""
    is_lost = re.match(r"(never|always) .* at event \d+, ", wrong)
    if (found := _ONE_FACT.fullmatch(wrong)) and not is_lost:
        return f"not yet: {found['goal']} (now {found['now']})"
    return f"not met any more: {wrong}" if is_lost else f"not yet: {wrong}"


def _judged_lines(result: "Result") -> Iterator[Line]:
    if text := _help(result):
        yield plain(f"  → {text}", WARN)


def _help(result: "Result") -> str:
    """The lab's words for what went wrong, on one line; empty if it has none."""
    return " ".join(result.cause.help.split()) if result.cause is not None else ""


# --------------------------------------------------------------------------- a guided lab
def guided_lines(lab: "LabSession", grade: "Grade") -> Iterator[Line]:
    """Number of tasks that are done, text of the next one, and titles of those that follow."""
    current = lab.open_task
    if any(result.passed for result in grade.results):
        yield plain(f"done  {points_text(lab)} tasks", GOOD)
    for task, result in zip(lab.lab.document.tasks, grade.results, strict=True):
        title = task.title or task.id
        if result.passed:
            continue
        if task is not current:
            yield plain(f"      {title}", DIM)
        else:
            yield plain(f"now   {title}", TITLE)
            yield from asked_lines(task)
    if current is None:
        yield from _after(lab)


def progress(lab: "LabSession", before: "Grade", *, brief: bool) -> Iterator[Line]:
    """The tasks of a guided lab that a line has passed, and the next one.

    Of a task with several goals, which of them are met; brief: without what the next task asks.
    """
    was = {result.id for result in before.results if result.passed}
    now = [result.id for result in lab.grade().results if result.passed]
    if set(now) != was:
        yield from (
            plain(f"done  {lab.task(name).title or name}", GOOD) for name in now if name not in was
        )
        yield from current_lines(lab, brief=brief)
        return
    task = lab.open_task
    newest = lab.work.newest
    if task is None or not task.goal or not newest or any(each.undoes for each in newest):
        return
    result, old = (next(each for each in grade.results if each.id == task.id)
                   for grade in (lab.latest, before))  # fmt: skip
    is_half = 0 < len(result.wrong) < len(task.goal)
    is_late = any(wrong.startswith(("never ", "always ")) for wrong in result.wrong)
    if is_half and not is_late and len(result.wrong) < len(old.wrong):
        left = ", ".join(wrong.partition(": ")[0].removeprefix("ever ") for wrong in result.wrong)
        done = len(task.goal) - len(result.wrong)
        yield plain(f"{done} of {len(task.goal)} done; left: {left}", GOOD)
    elif result.wrong and task.otherwise and (is_late or not is_half):
        yield plain(f"→ {_help(result)}", WARN)


def current_lines(lab: "LabSession", *, brief: bool) -> Iterator[Line]:
    """The first open task of a guided lab, with what it asks; brief: its title."""
    task = lab.open_task
    if task is None:
        yield from _after(lab)
    else:
        yield plain(f"now   {task.title or task.id}", TITLE)
        yield from () if brief else asked_lines(task)


def _after(lab: "LabSession") -> Iterator[Line]:
    yield plain("All tasks are done.", TITLE)
    yield from prose(lab.lab.document.after or "")


# --------------------------------------------------------------------------- after a line
def after_line(lab: "LabSession") -> Iterator[Line]:
    """Goals that a line has turned, the lab's words for what went wrong, and the way back."""
    failed = lab.new_errors()
    if not lab.lab.document.guided:
        turned = lab.turned(lab.session)
        lab.refresh(at_once=bool(turned or failed))
        for name, met in turned:
            yield plain(f"{'met' if met else 'not met any more'}  {name}", GOOD if met else WARN)
        if turned and lab.is_done:
            yield plain(ALL_DONE, GOOD)
    if text := lab.new_cause():
        yield plain(f"→ {' '.join(text.split())}", WARN)
    if failed and not lab.is_done:  # a task may be an error
        names = " and ".join(failed)
        are = "are" if len(failed) > 1 else "is"
        back = f"goto {lab.work.newest[0].start.event}" if lab.work.newest else "back"
        yield plain(f"{names} {are} in ERR. {back} returns to the moment before this line.", WARN)


# --------------------------------------------------------------------------- questions and hints
def _right_answer(task: "Task", result: "Result", given: str) -> Iterator[Line]:
    """`✓ b) is right: an RNR NAK`; nothing unless that is known. given: of a choice its number."""
    if result.passed:
        from rdmalab.scenario.reading import LETTERS

        name, text = f"{given} ", "."
        if task.choice:
            at = int(given) - 1
            name, text = f"{LETTERS[at]}) ", f": {task.choice[at].text}"
        yield plain(f"✓ {name}is right{text}", GOOD)


def wrong_answer(result: "Result") -> Iterator[Line]:
    """`✗ That is not the answer.` and what the lab says about it; nothing if it is right."""
    if result.passed is False:
        yield plain(f"✗ That is not the answer. {_help(result)}".rstrip(), WARN)


def asked_lines(task: "Task", *, question_only: bool = False) -> Iterator[Line]:
    """The question of a task, the answers that are offered with their letters, how to answer.

    question_only: without what was to be done before it is answered.
    """
    from rdmalab.scenario.reading import last_sentence

    ask = task.ask or ""
    first = next(iter(paragraphs(ask)), "")
    yield from prose(last_sentence(first) if question_only else ask, "  ")

    offered = choices(task)
    row = "   ".join(offered)
    yield from (plain(f"  {text}") for text in ([row] if 0 < len(row) <= _ROW else offered))
    if task.is_asked:
        yield plain(f"  {how_to_answer(task)}", DIM)


def choices(task: "Task") -> list[str]:
    """`a) an ACK`, `b) an RNR NAK`: the answers that are offered; none of a free text."""
    from rdmalab.scenario.reading import LETTERS

    return [f"{a}) {each.text}" for a, each in zip(LETTERS, task.choice or (), strict=False)]


def how_to_answer(task: "Task") -> str:
    """`a, b or c answers; 1 answer counts`, `type: answer TEXT`."""
    from rdmalab.classroom.answers import letters

    if not task.choice:
        return "type: answer TEXT"
    verb = "counts" if task.tries == 1 else "count"
    limit = f"; {fmt.count(task.tries, 'answer')} {verb}" if task.tries else ""
    return f"{fmt.either(letters(task))} answers{limit}"


def hint_lines(lab: "LabSession", task: "Task", *, sure: bool) -> Iterator[Line]:
    """The next hint of a task, which is taken then. sure: also one that costs points."""
    number = lab.next_hint(task)
    if not number:
        text = "all hints were given; the last one:" if task.hints else "this task has no hints"
        yield plain(f"{task.id}: {text}", DIM)
        for hint in task.hints[-1:]:
            yield from prose(hint.text)
        return
    hint = task.hints[number - 1]
    if hint.cost and not sure:
        cost = fmt.count(hint.cost, "point")
        yield plain(f"the next hint costs {cost}: hint {task.id} yes", WARN)
        return
    lab.take_hint(task.id)
    yield from prose(hint.text)
