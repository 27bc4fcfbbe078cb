"""A lab that is open at a prompt: lines, answers and hints, and what they are worth."""

from collections.abc import Mapping

from rdmalab.classroom.goals import judge
from rdmalab.classroom.grade_document import Grade
from rdmalab.classroom.judging import Work, grade
from rdmalab.classroom.lab_file import NAMED, LabFile, loads
from rdmalab.classroom.model import Task
from rdmalab.classroom.playing import Played, begun
from rdmalab.classroom.public import digest
from rdmalab.classroom.rules import Rulebook
from rdmalab.classroom.solution_model import Submission
from rdmalab.scenario.field_types import FORMAT
from rdmalab.scenario.planner import Vocabulary
from rdmalab.session.session import Session

ANYONE = "anonymous"
"""The student of a lab that was loaded without one."""


class LabSession:
    """The work of a student. lines: those that change something, in the order typed.

    latest: the newest grade; lines typed after it are not in it.
    """

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
        self.met: dict[str, bool] = {}
        """`task: goal` → whether it is met now, for the goals that `turned` looks at."""
        self.turned(self.session)
        self.latest = self.grade()

    @property
    def session(self) -> Session:
        """The world of the lab as the setup left it, until lines have changed it."""
        return self.played.session

    # ------------------------------------------------------------------ lines
    def refusal(self, session: Session, line: str) -> str:
        """Why the rules do not allow a line; empty if they do, or if it is not understood."""
        if session is not self.session:
            return ""
        parts = Rulebook(self.lab.document.rules, session).parts(line)
        return next((p.foul for p in parts if p.foul and not p.foul.startswith("not under")), "")

    def keep(self, session: Session, line: str, stopped_after: int | None = None) -> None:
        """Add a line that was typed. stopped_after: it was a run that ^C ended after these events.

        Commands that only look are left out.
        """
        if session is not self.session:
            return
        parts = [part.text for part in Rulebook(self.lab.document.rules, session).parts(line)]
        if parts and stopped_after is not None and len(parts) == 1:
            parts = [f"step {stopped_after}"] if stopped_after else []
        if parts:
            self.lines.append("; ".join(parts))

    def turned(self, session: Session) -> list[tuple[str, bool]]:
        """Goals of the present that have another truth than before: (task: goal, whether met).

        Goals over time, of a `try`, and hidden ones are judged by `grade` only.
        """
        found = []
        for task in self.lab.document.tasks:
            goals = [] if task.hidden or task.steps_tried or task.vary else task.goal or []
            for goal in [goal for goal in goals if goal.kind == "now"]:
                if f"{NAMED}{{" in goal.question:  # it names what the finished world has
                    continue
                (judged,) = judge(session, [goal], self.played.start, self.lab.world)
                name = f"{task.id}: {judged.text}"
                if self.met.get(name, False) is not judged.met:
                    found.append((name, judged.met))
                self.met[name] = judged.met
        return found

    # ------------------------------------------------------------------ tasks
    def task(self, name: str) -> Task | None:
        """The task of this id; None if there is none."""
        return next((task for task in self.lab.document.tasks if task.id == name), None)

    def next_hint(self, task: Task) -> int:
        """The number of the first hint that was not taken yet, from 1; 0: all were taken."""
        taken = [name for name in self.hints if name.startswith(f"{task.id}.")]
        return len(taken) + 1 if len(taken) < len(task.hints) else 0

    def grade(self) -> Grade:
        """What the work is worth now, without hidden tasks; the lines are replayed."""

        def reopen(world: Mapping[str, str]) -> LabFile:
            path, params = self.lab.source.path, self.lab.params
            return loads(self.text, path, self.vocabulary, params=params, world=world)

        work = Work(self.lines, self.answers, self.hints)
        self.latest = grade(self.lab, work, reopen, public=True)
        return self.latest

    def submission(self) -> Submission:
        """What is handed in."""
        return Submission(
            rdmalab=FORMAT, kind="submission", lab=f"{self.lab.document.id} {digest(self.lab)}",
            student=self.student, lines=self.lines, answers=self.answers, hints=self.hints,
        )  # fmt: skip
