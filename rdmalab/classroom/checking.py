"""Test a lab by its own solutions: those that must pass, those that must not, under other names."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from rdmalab.classroom.answers import right_answers
from rdmalab.classroom.grade_document import Grade
from rdmalab.classroom.instructor_model import Rejected, Solution
from rdmalab.classroom.judging import JudgedWork, grade
from rdmalab.classroom.lab_file import SEED, LabFile, loads, questions
from rdmalab.classroom.model import Task
from rdmalab.classroom.playing import begun
from rdmalab.classroom.public import published
from rdmalab.classroom.trust import as_shown
from rdmalab.command import New, NotUnderstood
from rdmalab.grammar.hints import suggest
from rdmalab.grammar.line import parse
from rdmalab.lab import Lab
from rdmalab.scenario import yaml_tree
from rdmalab.scenario.source import FileError
from rdmalab.spec.row import dataclass

Named = TypeVar("Named", bound=Solution)

_UNPLAYED = ("solutions", "instructor", "params", "bars")
"""Keys of a lab whose texts are not played in the world that a student gets."""
_SHORT = 20  # characters: a line as short as that, `poll_cq A.cq0`, is no secret


@dataclass(frozen=True, slots=True)
class Trial:
    """A solution for one student. wrong: how its grade differs from what the lab declares."""

    solution: str
    student: str
    renamed: bool
    grade: Grade
    wrong: str = ""

    @property
    def name(self) -> str:
        """`all-signaled, student 3, objects renamed`."""
        renamed = ", objects renamed" if self.renamed else ""
        return f"{self.solution}, student {self.student}{renamed}"


def students(count: int) -> list[str]:
    """The ids for which a lab is checked: `1`, `2`, …"""
    return [str(number) for number in range(1, count + 1)]


def trials(
    text: str, path: str, ids: Sequence[str], salt: str = "", *, only: str = ""
) -> Iterator[Trial]:
    """Grade every solution for each student, also with other names for the objects it creates.

    only: the name of one solution; empty: all of them.
    Raises FileError if the lab cannot be loaded for one of them.
    """
    for student in ids:
        lab = loads(text, path, student=student, salt=salt)
        solutions = lab.document.solutions
        if solutions is None:
            continue
        right = _Right(lab)
        for solution in _chosen([*solutions.accept, *solutions.reject], only):
            yield _tried(right, text, student, solution)
            if (other := renamed(solution.lines)) != solution.lines:
                again = solution.model_copy(update={"lines": other})
                yield _tried(right, text, student, again, renamed=True)


class _Right:
    """The right answers of a lab in the world of one student, each asked once."""

    def __init__(self, lab: LabFile) -> None:
        self.lab = lab
        self._found: dict[int, str] = {}

    def answers(self, solution: Solution) -> dict[str, str]:
        """The answers of a solution, with the right ones where it names only the task."""
        answers = as_shown(self.lab, solution)
        for index, task in enumerate(self.lab.document.tasks):
            if task.id in solution.answered:
                if index not in self._found:
                    self._found[index] = right_answers(self.lab, index)[0]
                answers[task.id] = self._found[index]
        return answers


def _chosen(solutions: Sequence[Named], only: str) -> list[Named]:
    return [each for each in solutions if only in ("", each.name)]


def _tried(
    right: _Right, text: str, student: str, solution: Solution, *, renamed: bool = False
) -> Trial:
    lab = right.lab

    def reopen(world: Mapping[str, str]) -> LabFile:
        return loads(text, lab.source.path, params=lab.params, world=world)

    found = grade(lab, JudgedWork(solution.lines, right.answers(solution)), reopen)
    judge = _rejected if isinstance(solution, Rejected) else _accepted
    return Trial(solution.name, student, renamed, found, judge(solution, found))


def _accepted(_solution: Solution, found: Grade) -> str:
    if found.passed:
        return ""
    failed = [result for result in found.results if not result.passed]
    parts = [f"{r.id}: {'; '.join(r.wrong) or r.reason}" for r in failed]
    return "; ".join(
        [f"it must pass, and is {found.verdict}", *filter(None, [found.reason]), *parts]
    )


def _rejected(solution: Solution, found: Grade) -> str:
    assert isinstance(solution, Rejected)
    if found.verdict != "graded":
        return f"it is {found.verdict}: {found.reason}"
    if found.passed:
        return "it must not pass, and gets all points"
    if solution.task is None:
        return ""
    result = next(each for each in found.results if each.id == solution.task)
    if result.passed is not False:
        return f"{solution.task} must fail, and is {result.reason or 'passed'}"
    cause = result.cause.id if result.cause is not None else ""
    if solution.cause is not None and cause != solution.cause:
        return f"{solution.task} must fail by {solution.cause}, and why names {cause or 'nothing'}"
    return ""


# --------------------------------------------------------------------------- other names
def renamed(lines: Sequence[str]) -> list[str]:
    """The lines with other names for what they create; the lab must not depend on names."""
    made = list(dict.fromkeys(name for line in lines for name in _made(line)))
    found = list(lines)
    for name in made:
        node, _, own = name.partition(".")
        pattern = re.compile(rf"(?<![\w.])({node}\.)?{re.escape(own)}(?!\w)")
        found = [pattern.sub(rf"\g<1>other_{own}", line) for line in found]
    return found


def _made(line: str) -> Iterator[str]:
    lab = Lab()
    try:
        for invocation in parse(line, lab.session.vocabulary, "A", aliases=lab.session.aliases):
            for value in invocation.arguments.values():
                if isinstance(value, New):
                    yield str(value)
    except NotUnderstood:
        return


# --------------------------------------------------------------------------- what students see
def leaks(lab: LabFile) -> list[str]:
    """Texts of hidden tasks, of the instructor and of solutions that stand in the students' file.

    What a task that is shown, or the setup, has as well is no secret.
    """
    document, public = lab.document, published(lab)
    shown = json.dumps([task.model_dump() for task in document.tasks if not task.hidden])
    shown += json.dumps([step.line for step in lab.scenario.steps])
    secrets = {text for task in document.tasks if task.hidden for text in _secrets_of(task)}
    if document.instructor is not None:
        secrets.update(_texts(document.instructor.model_dump()))
    solutions = document.solutions
    for solution in (*solutions.accept, *solutions.reject) if solutions is not None else ():
        secrets.update(line for line in solution.lines if len(line) > _SHORT)
    return sorted(
        text for text in secrets if text in public and json.dumps(text)[1:-1] not in shown
    )


def vary_errors(lab: LabFile) -> list[FileError]:
    """Names of `vary` that nothing uses, and those that only hidden tasks vary."""
    tasks = lab.document.tasks
    shown = {name for task in tasks if not task.hidden for name in task.vary}
    plain = yaml_tree.plain(yaml_tree.compose(lab.source))
    assert isinstance(plain, dict)  # a document of a lab is a mapping
    used = json.dumps({key: value for key, value in plain.items() if key not in _UNPLAYED})
    found = []
    for index, task in enumerate(tasks):
        for name in task.vary:
            mistake = None
            if name != SEED and not re.search(rf"(?<!%)%\{{{re.escape(name)}\}}", used):
                like = f"write %{{{name}}} in setup, programs or link"
                hint = f"{like}, where ${{{name}}} stands" if f"${{{name}}}" in used else like
                mistake = NotUnderstood(f"nothing names %{{{name}}}", hint=hint)
            elif name != SEED and name not in shown:
                message = f"only hidden tasks vary {name}, so students have no value of it"
                hint = f"add vary: {{{name}: [{task.vary[name][0]}]}} to a task that is shown"
                mistake = NotUnderstood(message, hint=hint)
            if mistake is not None:
                found.append(lab.spot("tasks", index, "vary", name).error(mistake))
    return found


def idle_locks(lab: LabFile) -> list[str]:
    """Warnings about names that `lock` has and nothing is called after the setup."""
    session = begun(lab).session
    known = [*session.world.nodes, *session.names.thing_of]
    session.dispose()
    return [
        f"nothing is called {name} after the setup, and lock keeps it from being made; "
        f"{suggest(name, known)}"
        for name in lab.document.rules.lock if name not in known
    ]  # fmt: skip


def unusable_handout(lab: LabFile) -> str:
    """The reason the file for students is no lab; empty if it is one.

    A name that only a hidden task varies has no value in it: a task that is shown must vary it,
    too.
    """
    for live in (False, True):
        try:
            text = published(lab, live=live)
            loads(text, lab.source.path, params=lab.params)
        except FileError as wrong:
            return f"the file for students is no lab: {wrong.message}"
    return ""


def _secrets_of(task: Task) -> Iterator[str]:
    yield from (text for _, text in questions(task))
    yield from task.when_wrong.values()
    if task.otherwise:
        yield task.otherwise


def _texts(value: object) -> Iterator[str]:
    """The texts in a tree; those as short as a name are no secret."""
    if isinstance(value, str):
        yield from [value] if len(value) > _SHORT else []
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)
