"""Judge a submission: play it, ask the goals of each task, and find the cause of what is wrong."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from rdmalab.classroom.feedback import feedback, right_choice, same_answer
from rdmalab.classroom.goals import Judged, bound, judge, parsed
from rdmalab.classroom.grade_document import Cause, FoulReport, Grade, Result
from rdmalab.classroom.lab_file import LabFile, worlds
from rdmalab.classroom.model import Task
from rdmalab.classroom.playing import BrokenLab, Played, Verdict, begun, play, run_steps
from rdmalab.command import NotUnderstood
from rdmalab.doctor.future import untouched
from rdmalab.scenario.expect import said
from rdmalab.scenario.source import FileError

Reopen = Callable[[Mapping[str, str]], LabFile]
"""The same lab for the same student in another world of `vary`."""


@dataclass(slots=True)
class Work:
    """What is judged: lines, answers, hints that were taken."""

    lines: Sequence[str]
    answers: Mapping[str, str] = field(default_factory=dict)
    hints: Sequence[str] = ()


def grade(lab: LabFile, work: Work, reopen: Reopen, *, public: bool = False) -> Grade:
    """The grade of a submission. public: only what students may see is judged.

    What fails by a fault of the lab has the verdict `not-graded`, never a lower score.
    """
    document = lab.document
    report = Grade(lab=document.id, params=dict(lab.params), of=document.points)
    try:
        _Judge(lab, work, reopen, public=public).fill(report)
    except (BrokenLab, FileError) as wrong:
        report.verdict, report.reason = Verdict.NOT_GRADED.value, str(wrong)
        report.results, report.score = [], 0
    return report


class _Judge:
    """One submission. worlds: finished worlds by the values of `vary`."""

    def __init__(self, lab: LabFile, work: Work, reopen: Reopen, *, public: bool) -> None:
        self.lab = lab
        self.work = work
        self.reopen = reopen
        self.public = public
        self.played = play(lab, work.lines)
        self.worlds: dict[tuple[tuple[str, str], ...], Played] = {}

    def fill(self, report: Grade) -> None:
        """Judge all tasks."""
        played = self.played
        report.moves = played.moves
        report.foul = [FoulReport(line=f.line, text=f.text, why=f.why) for f in played.fouls]
        report.hints = [name for name in dict.fromkeys(self.work.hints) if self._cost(name)]
        passed: set[str] = set()
        for index, task in enumerate(self.lab.document.tasks):
            result = self._judge(index, task, passed)
            report.results.append(result)
            if result.passed:
                passed.add(task.id)
                result.score = max(0, task.points - self._charged(task))
        report.score = sum(result.score for result in report.results)
        if played.cut:
            report.verdict, report.reason = Verdict.CUT.value, played.cut

    # ------------------------------------------------------------------ hints
    def _charged(self, task: Task) -> int:
        taken = [name for name in dict.fromkeys(self.work.hints) if name.startswith(f"{task.id}.")]
        return sum(self._cost(name) for name in taken)

    def _cost(self, name: str) -> int:
        of, _, number = name.rpartition(".")
        task = next((task for task in self.lab.document.tasks if task.id == of), None)
        known = task is not None and number.isdecimal() and 0 < int(number) <= len(task.hints)
        return task.hints[int(number) - 1].cost if task is not None and known else 0

    # ------------------------------------------------------------------ a task
    def _judge(self, index: int, task: Task, passed: set[str]) -> Result:
        result = Result(id=task.id, points=task.points, hidden=task.hidden)
        needed = [need for need in task.needs if need not in passed]
        if task.hidden and (self.public or not (task.is_asked or task.goal)):
            result.reason = "hidden, not judged here"
        elif needed:
            result.reason = f"blocked: needs {', '.join(needed)}"
        elif task.is_asked:
            self._answered(index, task, result)
        elif self.played.cut:
            result.reason = self.played.cut
        else:
            self._reached(index, task, result)
        return result

    def _answered(self, index: int, task: Task, result: Result) -> None:
        given = self.work.answers.get(task.id, "").strip()
        if task.choice is not None:
            result.passed = given == str(right_choice(task))
            chosen = int(given) if given.isdecimal() else 0
            text = task.choice[chosen - 1].when_wrong if 0 < chosen <= len(task.choice) else None
        else:
            right = right_answers(self.lab, index)
            result.passed = any(same_answer(given, each) for each in right)
            text = None
        if not result.passed:
            result.wrong = [f"the answer is {given}" if given else "no answer"]
            result.cause = Cause(help=text or task.otherwise or "")

    def _reached(self, index: int, task: Task, result: Result) -> None:
        """The goals, in every world that the task varies."""
        result.passed = True
        for values in worlds(task):
            played = self._played(values)
            if played.cut:
                result.passed, result.reason = None, played.cut
                return
            with untouched(played.session):
                failed = [goal for goal in self._goals(played, index, task) if not goal.met]
                if not failed:
                    continue
                result.passed = False
                result.wrong = [f"{g.text}: {g.wrong}" if g.wrong else g.text for g in failed]
                result.world = values
                names = bound(played.session, task.bind, played.lab.world)
                result.cause = feedback(played.session, task, names)
                return

    def _goals(self, played: Played, index: int, task: Task) -> list[Judged]:
        """The goals of a task after its steps `try`, which are undone by the caller."""
        session = played.session
        names = bound(session, task.bind, played.lab.world)
        failure = run_steps(played, played.lab.steps[index].tried)
        if failure:
            return [Judged("try", met=False, wrong=failure)]
        return judge(session, task.goal or [], played.start, names)

    def _played(self, values: Mapping[str, str]) -> Played:
        if values.items() <= self.lab.world.items():
            return self.played
        key = tuple(sorted(values.items()))
        if key not in self.worlds:
            self.worlds[key] = play(self.reopen(values), self.work.lines)
        return self.worlds[key]


def right_answers(lab: LabFile, index: int) -> list[str]:
    """What is right for a task that is answered: the number of a choice, or a value.

    The question is asked in the world as the setup left it, after the steps `at`. Of an enum its
    word and its number are right.
    """
    task = lab.document.tasks[index]
    if task.answer is None:
        return [str(right_choice(task))]
    world = begun(lab)
    if failure := run_steps(world, lab.steps[index].at):
        raise BrokenLab(f"{lab.source.path}: {task.id}: at: {failure}")
    try:
        value = world.session.ask(parsed(task.answer, lab.world).expression.node)
    except NotUnderstood as wrong:
        raise lab.spot("tasks", index, "answer").error(wrong) from None
    return [said(value), *([str(int(value))] if isinstance(value, IntEnum) else [])]
