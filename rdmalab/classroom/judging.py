"""Judge a submission: play it, ask the goals of each task, and find the cause of what is wrong."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import field

from rdmalab.classroom.answers import NOTED, Judgement, in_words, listed, out_of_tries, verdict
from rdmalab.classroom.feedback import feedback
from rdmalab.classroom.goals import Judged, Watches, bound, readable
from rdmalab.classroom.grade_document import Cause, FoulReport, Grade, Result
from rdmalab.classroom.lab_file import LabFile, worlds
from rdmalab.classroom.model import GRADER, Goal, Task
from rdmalab.classroom.playing import (
    BrokenLab,
    GradeVerdict,
    Played,
    begun,
    run_lines,
    run_steps,
    settled,
)
from rdmalab.classroom.submission import added
from rdmalab.classroom.work_log import WHOLE, WorkRecord, hints_of, record
from rdmalab.doctor.moments.future import undone_trial
from rdmalab.scenario.source import FileError
from rdmalab.spec.row import dataclass
from rdmalab.views import fmt

Reopen = Callable[[Mapping[str, str]], LabFile]
"""Loads the lab for the same student in another world of `vary`."""


class KeptWorld:
    """A world after some lines, before the time that settles it, and its goals over time."""

    def __init__(self, played: Played, lines: Sequence[str] | None = None) -> None:
        """lines: None, where they run at a prompt and not here."""
        self.played = played
        self.lines = None if lines is None else list(lines)
        self._watched()

    def _watched(self) -> None:
        session = self.played.session
        self.watches = Watches(session, self.played.start)
        self._branch = session.history.branch

    def watched_here(self) -> "KeptWorld":
        """This world, with nothing in its goals that is not in its past: it may have gone back."""
        history = self.played.session.history
        if history.branch is not self._branch or history.here < self.watches.at:
            self._watched()
        return self

    def goes_on(self, lines: Sequence[str]) -> bool:
        """Run what leads to the end of these lines; False if they do not begin as those here."""
        if self.lines is None:
            return True
        if (more := added(self.lines, lines)) is None:
            return False
        run_lines(self.played, more, after=len(lines) - len(more))
        self.lines = list(lines)
        return True


class KeptWorlds:
    """The worlds of one student. own: the world of a prompt, in which the lines have run."""

    def __init__(self, lab: LabFile, reopen: Reopen, own: Played | None = None) -> None:
        self.lab = lab
        self.reopen = reopen
        self.kept: dict[tuple[tuple[str, str], ...], KeptWorld] = {}
        if own is not None:
            self.kept[()] = KeptWorld(own)

    def after(self, lines: Sequence[str], values: Mapping[str, str]) -> KeptWorld:
        """The world of these values of `vary` after the lines; raises BrokenLab."""
        key = self.key(values)
        if key not in self.kept or not self.kept[key].goes_on(lines):
            self.kept[key] = KeptWorld(begun(self.reopen(values) if key else self.lab), [])
            self.kept[key].goes_on(lines)
        return self.kept[key].watched_here()

    def key(self, values: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
        """Key of the world that has these values; empty for the lab as it is."""
        return () if values.items() <= self.lab.world.items() else tuple(sorted(values.items()))


@dataclass(slots=True)
class JudgedWork:
    """Lines, answers and hints that are judged. log: None for a solution of a lab.

    edits: differences between the log and the work.
    """

    lines: Sequence[str]
    answers: Mapping[str, str] = field(default_factory=dict)
    hints: Sequence[str] = ()
    log: Sequence[str] | None = None
    edits: Sequence[str] = ()

    @property
    def record(self) -> WorkRecord:
        """The facts in its log."""
        return record(self.log or (), len(self.lines), self.edits)

    def taken(self, tasks: Sequence[Task]) -> list[str]:
        """The hints that were taken, each once; those that only the log shows are among them.

        Where the log is edited or missing, all hints of these tasks count as taken.
        """
        if self.log is not None and self.record.state not in WHOLE:
            return [f"{task.id}.{n}" for task in tasks for n in range(1, len(task.hints) + 1)]
        return list(dict.fromkeys([*self.hints, *hints_of(self.log or ())]))


def grade(
    lab: LabFile, work: JudgedWork, reopen: Reopen, *, public: bool = False,
    kept: KeptWorlds | None = None,
) -> Grade:  # fmt: skip
    """The grade of a submission. public: only what students may see is judged.

    kept: worlds in which earlier lines of the work have run; None: all lines are played now.
    What fails by a fault of the lab has the verdict `not-graded`, never a lower score.
    """
    document = lab.document
    report = Grade(lab=document.id, params=dict(lab.params), of=document.points)
    try:
        with ExitStack() as undo:
            judge = _Judge(lab, work, kept or KeptWorlds(lab, reopen), undo, public=public)
            judge.fill(report)
    except (BrokenLab, FileError) as wrong:
        report.verdict, report.reason = GradeVerdict.NOT_GRADED.value, str(wrong)
        report.results, report.score = [], 0
    return report


class _Judge:
    """One submission. settled: worlds that are settled until `undo` is left, with their goals."""

    def __init__(
        self, lab: LabFile, work: JudgedWork, kept: KeptWorlds, undo: ExitStack, *, public: bool
    ) -> None:
        self.lab = lab
        self.work = work
        self.kept = kept
        self.undo = undo
        self.public = public
        self.taken: list[str] = []
        self.settled: dict[tuple[tuple[str, str], ...], tuple[Played, Watches]] = {}
        self.played = self._world({})[0]

    def fill(self, report: Grade) -> None:
        """Judge all tasks."""
        played = self.played
        report.moves = played.moves
        report.foul = [FoulReport(line=f.line, text=f.text, why=f.why) for f in played.fouls]
        self.taken = self.work.taken(self.lab.document.tasks)
        report.hints = [name for name in self.taken if self._cost(name)]
        passed: set[str] = set()
        for index, task in enumerate(self.lab.document.tasks):
            result = self._judge(index, task, passed)
            report.results.append(result)
            if result.passed or result.reason == NOTED:
                passed.add(task.id)
            if result.passed:
                lost = min(task.points, self._charged(task))
                result.score = task.points - lost
                result.reason = self._loss(lost) if lost else ""
        report.doctor = self._paid()
        report.score = max(0, sum(result.score for result in report.results) - report.doctor)
        if played.cut:
            report.verdict, report.reason = GradeVerdict.CUT.value, played.cut

    # ------------------------------------------------------------------ hints
    def _charged(self, task: Task) -> int:
        return sum(self._cost(name) for name in self.taken if name.startswith(f"{task.id}."))

    def _loss(self, points: int) -> str:
        state = "intact" if self.work.log is None else self.work.record.state
        all_of_them = "" if state in WHOLE else f": all count as taken, because the log is {state}"
        return f"{fmt.count(points, 'point')} less for hints{all_of_them}"

    def _paid(self) -> int:
        """Points for the uses of `why` and `apply`: by the log, and the lines show `apply`, too."""
        rules, log = self.lab.document.rules, self.work.record
        applied = max(log.applied, self.played.applied)
        return max(0, rules.doctor) * log.asked_why + max(0, rules.apply or 0) * applied

    def _cost(self, name: str) -> int:
        of, _, number = name.rpartition(".")
        task = next((task for task in self.lab.document.tasks if task.id == of), None)
        known = task is not None and 0 < listed(number) <= len(task.hints)
        return task.hints[listed(number) - 1].cost if task is not None and known else 0

    # ------------------------------------------------------------------ a task
    def _judge(self, index: int, task: Task, passed: set[str]) -> Result:
        ask = "" if task.hidden else (task.ask or "").strip()
        result = Result(id=task.id, ask=ask, points=task.points, hidden=task.hidden)
        needed = [need for need in task.needs if need not in passed]
        if task.hidden and (self.public or not (task.is_asked or task.goal)):
            result.reason = "hidden, not judged here"
        elif needed:
            result.reason = f"blocked: needs {', '.join(needed)}"
        elif task.essay:
            result.by_hand, result.given = True, self.work.answers.get(task.id, "").strip()
            result.reason = NOTED if result.given else "no answer"
        elif task.is_asked:
            self._answered(index, task, result)
        else:
            self._reached(index, task, result)
        return result

    def _answered(self, index: int, task: Task, result: Result) -> None:
        given = self.work.answers.get(task.id, "").strip()
        result.given = in_words(task, given)
        judgement = verdict(self.lab, index, given)
        judgement = judgement if given else Judgement(right=False)
        if given and (judgement.right is None or (self.public and task.judged == GRADER)):
            result.reason = NOTED
            return
        result.passed = judgement.right
        late = ""
        if given and task.tries and self.work.log is not None:
            late = out_of_tries(task, self.work.log, self.work.record.state, given)
        if late:
            result.passed = False
        if not result.passed:
            result.wrong = [late or (f"answered {result.given}" if given else "no answer")]
            result.cause = Cause(help=late or judgement.help or task.otherwise or "")

    def _reached(self, index: int, task: Task, result: Result) -> None:
        """The goals, in every world that the task varies.

        Of work that a limit has ended, goals that are met count; others are not judged.
        """
        result.passed = True
        for values in worlds(task):
            played, watches = self._world(values)
            if played.cut and task.steps_tried:  # they need a world that has settled
                result.passed, result.reason = None, played.cut
                return
            with undone_trial(played.session):
                failed = [g for g in self._goals(played, watches, index, task) if not g.met]
                if not failed:
                    continue
                result.passed = None if played.cut else False
                result.reason = played.cut
                wrong = (f"{g.text}: {g.wrong}" if g.wrong else g.text for g in failed)
                result.wrong = [readable(each, task.bind) for each in wrong]
                result.world = values
                names = bound(played.session, task.bind, played.lab.world)
                result.cause = feedback(played.session, task, names)
                return

    def _goals(self, played: Played, watches: Watches, index: int, task: Task) -> list[Judged]:
        """The goals of a task after its steps `try`, which are undone by the caller."""
        names = bound(played.session, task.bind, played.lab.world)
        failure = run_steps(played, played.lab.steps[index].tried)
        if failure:
            return [Judged("try", met=False, wrong=failure)]
        return watches.further().judged(task.goal or [], names)

    def _world(self, values: Mapping[str, str]) -> tuple[Played, Watches]:
        """A settled world with the lines, and its goals over time up to there."""
        key = self.kept.key(values)
        if key not in self.settled:
            kept = self.kept.after(self.work.lines, values)
            end = kept.played.session.history.here
            # Settled and undone in the world of the prompt: after 50,000 events `task` takes 0.2 s
            # of CPU; a replay, as `submit` and the grader do it, takes 1.4 s.
            self.undo.enter_context(settled(kept.played))
            # Names are bound in the settled world, and the lines replayed once for all goals.
            kept.watches.look(self._over_time(kept.played, key), end)
            watches = kept.watches.further()
            watches.look([])
            self.settled[key] = kept.played, watches
        return self.settled[key]

    def _over_time(
        self, played: Played, key: tuple[tuple[str, str], ...]
    ) -> Iterator[tuple[Goal, Mapping[str, str]]]:
        """The goals over time of all tasks that are judged in a world, each with its names."""
        for task in self.lab.document.tasks:
            is_judged = not (task.hidden and self.public)
            if task.goal and is_judged and key in map(self.kept.key, worlds(task)):
                names = bound(played.session, task.bind, played.lab.world)
                yield from ((goal, names) for goal in task.goal)
