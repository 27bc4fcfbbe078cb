"""A lab that is open: lines, answers and hints, and what they are worth."""

from collections.abc import Callable, Mapping

from rdmalab.classroom import submission
from rdmalab.classroom.goals import judge
from rdmalab.classroom.grade_document import Grade
from rdmalab.classroom.judging import Work, grade
from rdmalab.classroom.lab_file import NAMED, LabFile, loads
from rdmalab.classroom.model import Hint, Task
from rdmalab.classroom.playing import Played, begun, typed
from rdmalab.classroom.public import digest, other_lab
from rdmalab.classroom.rules import DOCTOR, Rulebook
from rdmalab.classroom.solution_model import Submission
from rdmalab.classroom.work_log import ASKED, SUBMITTED, WorkLog
from rdmalab.command import Unit
from rdmalab.grammar.format import render
from rdmalab.grammar.quantities import spelled
from rdmalab.scenario.field_types import FORMAT
from rdmalab.scenario.planner import Vocabulary
from rdmalab.session.session import Session

ANYONE = "anonymous"
"""The student of a lab that was loaded without one."""


class WrongTask(Exception):  # noqa: N818  (it says what is wrong with the name of a task)
    """Raised for a task that does not exist, or that asks for no answer."""


class WrongWork(Exception):  # noqa: N818  (it says what is wrong with a submission)
    """Raised for a submission of another lab, or of another version of it."""


def _after(wait_ns: int, line: str = "") -> str:
    """The line after this time: `run 5us; post_send …`."""
    run = f"run {spelled(wait_ns, Unit.NS)}" if wait_ns else ""
    return "; ".join(filter(None, [run, line]))


class LabSession:
    """The work of a student. lines: those that change something, in the order typed.

    latest: the newest grade; lines typed after it are not in it.
    skipped: lines of a submission that was continued, each with why it does not count.
    autosave: called after each line of a prompt; returns why the work is not kept, empty if it is.
    """

    autosave: Callable[[], str] | None = None

    def __init__(self, text: str, path: str, vocabulary: Vocabulary, student: str) -> None:
        """Raises FileError for a wrong file, and BrokenLab if its setup fails."""
        self.text = text
        self.student = student or ANYONE
        self.vocabulary = vocabulary
        self.lab = loads(text, path, vocabulary, student=self.student)
        self.played: Played = begun(self.lab)
        self.lines: list[str] = []
        self.answers: dict[str, str] = {}
        self.hints: list[str] = []
        self.log = WorkLog()
        self.skipped: list[str] = []
        self.met: dict[str, bool] = {}
        """`task: goal` → whether it is met now, for the goals that `turned` looks at."""
        self.turned(self.session)
        self.latest = self.grade()
        self._calls = len(self.session.journal)

    @classmethod
    def begun(
        cls, text: str, path: str, vocabulary: Vocabulary, student: str, work: str = "",
        work_path: str = "",
    ) -> "LabSession":  # fmt: skip
        """A lab as it begins, or as a submission left it. work: its text, empty: none.

        student: if empty: that of the submission, or `anonymous`.
        Raises FileError, BrokenLab, and WrongWork if the submission is of another lab.
        """
        given = submission.loads(work, work_path) if work else None
        lab = cls(text, path, vocabulary, student or (given.student if given else ""))
        if given is not None:
            if wrong := other_lab(lab.lab, given.lab):
                raise WrongWork(wrong)
            lab._resume(given)
        return lab

    @property
    def session(self) -> Session:
        """The world of the lab as the setup left it, until lines have changed it."""
        return self.played.session

    # ------------------------------------------------------------------ lines
    def refusal(self, session: Session, line: str) -> str:
        """Why the rules do not allow a line; empty if they do, or if it is not understood."""
        if session is not self.session:
            return ""
        parts = self._rulebook().parts(line)
        return next((p.foul for p in parts if p.foul and not p.foul.startswith("not under")), "")

    def keep(self, session: Session, line: str, stopped_after: int | None = None) -> None:
        """Add a line that was typed. stopped_after: it was a run that ^C ended after these events.

        Commands that only look are left out.
        """
        if session is not self.session:
            return
        if any(part.split()[:1] == [word] for part in line.split(";") for word in DOCTOR):
            self.log.add(f"{ASKED} event {session.world.event}")
        parts = [part.text for part in self._rulebook().parts(line)]
        if parts and stopped_after is not None and len(parts) == 1:
            parts = [f"step {stopped_after}"] if stopped_after else []
        if parts:
            self.lines.append("; ".join(parts))
            self.log.add(f"line {len(self.lines)} event {session.world.event}")

    def _resume(self, work: Submission) -> None:
        """Run the lines of a submission; take over its answers, hints and log."""
        rules = self._rulebook()
        self.skipped = [
            f"{number}: {foul}"
            for number, line in enumerate(work.lines, 1)
            for foul in typed(self.played, rules, line)
        ]
        self.lines = list(work.lines)
        self.answers, self.hints = dict(work.answers), list(work.hints)
        self.log = WorkLog(work.log)
        self.turned(self.session)
        self.grade()

    def keep_calls(self) -> None:
        """Add what a program has called since the setup, each call at its time."""
        session, now_ns = self.session, self.played.start.at_ns
        for entry in list(session.journal)[self._calls :]:
            line = render(entry.invocation, session.vocabulary[entry.invocation.name])
            self.lines.append(_after(entry.at_ns - now_ns, line))
            now_ns = entry.at_ns
        if wait_ns := session.world.now_ns - now_ns:
            self.lines.append(_after(wait_ns))
        self._calls = len(session.journal)
        self.log.add(f"line {len(self.lines)} event {session.world.event}")

    def _rulebook(self) -> Rulebook:
        return Rulebook(self.lab.document.rules, self.session, self.played.start)

    def turned(self, session: Session) -> list[tuple[str, bool]]:
        """Goals of the present that have another truth than before: (task: goal, whether met).

        Goals over time, of a `try`, and hidden ones are judged by `grade` only.
        """
        found = []
        for task in self.lab.document.tasks:
            later = task.hidden or task.steps_tried or self._varies(task)
            goals = [] if later else task.goal or []
            for goal in [goal for goal in goals if goal.kind == "now"]:
                if f"{NAMED}{{" in goal.question:  # it names what the finished world has
                    continue
                (judged,) = judge(session, [goal], self.played.start, self.lab.world)
                name = f"{task.id}: {judged.text}"
                if self.met.get(name, False) is not judged.met:
                    found.append((name, judged.met))
                self.met[name] = judged.met
        return found

    def _varies(self, task: Task) -> bool:
        """Whether a task is judged in another world than the one that is open, too."""
        return any([self.lab.world.get(name)] != values for name, values in task.vary.items())

    # ------------------------------------------------------------------ tasks
    def task(self, name: str) -> Task:
        """The task of this id; raises WrongTask if there is none."""
        found = next((task for task in self.lab.document.tasks if task.id == name), None)
        if found is None:
            names = " ".join(each.id for each in self.lab.document.tasks)
            raise WrongTask(f"no task is called {name}: {names}")
        return found

    @property
    def open_task(self) -> Task | None:
        """The first task that is not passed, by the newest grade; None: all are."""
        pairs = zip(self.lab.document.tasks, self.latest.results, strict=True)
        return next((task for task, result in pairs if result.passed is False), None)

    def next_hint(self, task: Task) -> int:
        """The number of the first hint that was not taken yet, from 1; 0: all were taken."""
        taken = [name for name in self.hints if name.startswith(f"{task.id}.")]
        return len(taken) + 1 if len(taken) < len(task.hints) else 0

    def take_hint(self, name: str) -> Hint | None:
        """Take the next hint of a task, and pay for it; None: all were taken, or it has none.

        Raises WrongTask.
        """
        task = self.task(name)
        number = self.next_hint(task)
        if not number:
            return None
        self.hints.append(f"{name}.{number}")
        self.log.add(f"hint {name}.{number}")
        return task.hints[number - 1]

    def answer(self, name: str, text: str) -> None:
        """Answer a task; the last answer counts. Raises WrongTask."""
        task = self.task(name)
        if not task.is_asked and not task.hidden:
            raise WrongTask(f"{name} asks for no answer: its goals are judged")
        self.answers[name] = text.strip()
        self.log.add(f"answer {name}")

    def grade(self) -> Grade:
        """What the work is worth now, without hidden tasks; the lines are replayed."""

        def reopen(world: Mapping[str, str]) -> LabFile:
            path, params = self.lab.source.path, self.lab.params
            return loads(self.text, path, self.vocabulary, params=params, world=world)

        work = Work(self.lines, self.answers, self.hints)
        self.latest = grade(self.lab, work, reopen, public=True)
        self.latest.student = self.student
        return self.latest

    def submission(self) -> Submission:
        """What is handed in, as the log has it from now on."""
        self.log.add(f"{SUBMITTED} {self.latest.score}")
        return self.so_far()

    def so_far(self) -> Submission:
        """The work up to now, to be continued."""
        return Submission(
            rdmalab=FORMAT, kind="submission", lab=f"{self.lab.document.id} {digest(self.lab)}",
            student=self.student, lines=self.lines, answers=self.answers, hints=self.hints,
            log=self.log.entries,
        )  # fmt: skip
