"""The pydantic model of a lab file: a scenario's world, and what a student is asked to do in it."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field, model_validator

from rdmalab.classroom.instructor_model import Instructor, Solutions
from rdmalab.classroom.parameter_model import (
    SHUT,
    LabParameter,
    Percent,
    Points,
    Price,
    Seal,
    Tries,
    Truth,
    VaryValues,
)
from rdmalab.scenario import field_types
from rdmalab.scenario.model import Document, Section, Steps, TextOrSection

KIND = "lab"
KINDS = ("now", "ever", "never", "always")
WAYS = ("answer", "sealed", "choice", "goal")
"""Keys of a task by which it is judged; it has one of them."""
GRADER = "grader"
"""`judged` of an answer that is not judged at the student's."""
MOST_TASKS = 50


class Limits(Section):
    """The most that a submission may use; more than that is `cut`."""

    lines: field_types.Number = 300
    """Lines."""
    events: field_types.Number = 50_000
    """Events of the whole submission."""
    time: field_types.Time = 10_000_000_000
    """Virtual time after the setup."""


class Rules(Section, BaseModel):
    """Limits for a student's lines. A line that is not allowed is skipped and reported."""

    allow: list[field_types.Word] = []
    """Commands of the experimenter that are allowed here: `fault`, `link`, `pkey`."""
    forbid: list[field_types.Word] = []
    """Commands that are not allowed here: `use`, `connect`."""
    lock: list[field_types.Sentence] = []
    """Objects that no command may change, or nodes: `B.qp0`, `B`."""
    past: Literal["free", "counted", "never"] = "free"
    """`back`, `goto`, `rewind`: free, counted in the report, or not allowed."""
    doctor: Price = 0
    """`why` and `checklist`: open, shut, or the points that each use costs; shut is for `apply`,
    too."""
    apply: Price | None = None
    """`apply`: open, shut, or the points that each use costs; default: shut if tasks are worth
    points, open in guided labs."""
    limits: Limits = Limits()
    """The most that a submission may use."""
    settle: field_types.Sentence = "run 100ms"
    """Action after the last line, so that work in flight completes."""


class Bars(Section, BaseModel):
    """The most that `lab check` lets ways without work get, in percent of all points."""

    copied: Percent | None = None
    """A copy of another student's work, as the mean of the class."""
    applied: Percent | None = None
    """`apply` again and again."""
    written: Percent | None = None
    """The bytes that goals name, written by the host, and empty messages."""
    handout: Percent | None = None
    """Information about choices that the file for students has."""
    tried: Percent | None = None
    """Each choice tried until it is right, where choices are judged at once."""


class Goal(TextOrSection):
    """A question that must be true: when all is done, or over the time since the setup.

    That time is the one on the branch that is handed in.
    """

    now: field_types.Sentence | None = None
    """True when all is done; a text alone means this."""
    ever: field_types.Sentence | None = None
    """True after some event."""
    never: field_types.Sentence | None = None
    """True after no event."""
    always: field_types.Sentence | None = None
    """True after every event."""
    by: field_types.Time | None = None
    """With `ever`: at the latest so long after the setup."""
    before: field_types.Sentence | None = None
    """With `ever`: in an event before the first one in which this is true."""

    @model_validator(mode="before")
    @classmethod
    def _one_kind(cls, given: object) -> object:
        if isinstance(given, str):
            return {"now": given}
        if not isinstance(given, dict):
            hint = 'write A.cq0.count == 1, or {never: "…"}'
            raise field_types.wrong("a goal is a question, or a mapping", hint)
        if len([kind for kind in KINDS if kind in given]) != 1:
            hint = f"write one of {', '.join(KINDS)}"
            raise field_types.wrong("a goal has one kind", hint)
        for key in ("by", "before"):
            if key in given and "ever" not in given:
                raise field_types.wrong(f"{key} goes with ever only", "leave it out", key)
        return given

    @property
    def kind(self) -> str:
        """Its kind, one of KINDS."""
        return next(kind for kind in KINDS if getattr(self, kind))

    @property
    def question(self) -> str:
        return str(getattr(self, self.kind))


class Choice(Section):
    """One of the answers that are offered."""

    text: field_types.Sentence
    """The answer."""
    right: Truth = False
    """Whether it is right."""
    when_wrong: field_types.Sentence | None = None
    """Feedback for a student who chose it."""
    sealed: Seal | None = None
    """In the file for students: whether it is right and what is read then, sealed by `publish`."""


class Hint(Section):
    """A hint; a student who takes it loses its cost."""

    cost: Points = 0
    """Points."""
    text: field_types.Sentence
    """The hint."""


Goals = Annotated[list[Goal], Field(min_length=1, max_length=100)]
Names = dict[field_types.ParameterName, field_types.Sentence]


class Task(Section, BaseModel):
    """One task: goals of the world, an answer, or a choice."""

    id: field_types.Word
    """Its name in submissions and grades."""
    title: field_types.Sentence | None = None
    """One line."""
    points: Points = 0
    """Points that it is worth."""
    ask: field_types.Sentence | None = None
    """Task: what is to be done or answered."""
    answer: field_types.Sentence | None = None
    """A question to the student's own world, as the setup left it, after `at`; its value is the
    right answer."""
    at: Steps = []
    """Steps after which `answer` is asked, on a copy."""
    sealed: Annotated[list[Seal], Field(min_length=1)] | None = None
    """In the file for students, in the place of `answer`: the hashes of what is right."""
    depends: list[field_types.ParameterName] = []
    """In the file for students: the parameters on which the right value depends."""
    choice: Annotated[list[Choice], Field(min_length=2, max_length=9)] | None = None
    """Answers of which one is right; the student gives its number."""
    shuffle: Truth = False
    """The answers that are offered are in another order for each student."""
    tries: Tries | None = None
    """Number of different answers of a choice that count, by the log of the submission;
    without a log none counts."""
    once: field_types.Sentence | None = None
    """A question to the student's own world: at a prompt no answer is taken before it is true."""
    judged: Literal["live", "grader"] = "live"
    """An answer is judged at once, or by the grader alone; then students get no seal."""
    essay: Truth = False
    """Answered with a text, which a person marks."""
    needs: list[field_types.Word] = []
    """Tasks above that must be passed before; else this one is blocked."""
    bind: Names = {}
    """`%{NAME}` in goals: what a question to the finished world names: `{q: A.cq0.last.qp}`."""
    goal: Goals | None = None
    """Questions that must be true."""
    steps_tried: Steps = Field([], alias="try")
    """Steps that are played on a copy of the finished world before the goals are asked."""
    vary: dict[field_types.ParameterName, VaryValues] = {}
    """The submission is played again in each of these worlds: values of `%{NAME}`, and `seed`."""
    why: field_types.Sentence | None = None
    """Argument of `why` if a goal is not met; default: everything."""
    when_wrong: dict[field_types.Word, field_types.Sentence] = {}
    """Feedback by the cause that `why` names, by its slug."""
    otherwise: field_types.Sentence | None = Field(None, alias="else")
    """Feedback if no cause fits."""
    hints: list[Hint] = []
    """Hints, in the order in which they are given."""
    hidden: Truth = False
    """Judged by the grader only; the file for students has its `announce` and points."""
    announce: field_types.Sentence | None = None
    """Text about a hidden task that students read."""

    @model_validator(mode="after")
    def _agrees(self) -> "Task":
        ways = [w for w in WAYS if getattr(self, w) is not None] + ["essay"] * self.essay
        if len(ways) > 1:
            raise field_types.wrong(f"{ways[0]} and {ways[1]} are two tasks", "write another task")
        if not ways and not (self.hidden and self.announce) and self.judged != GRADER:
            raise field_types.wrong("this task asks nothing", "add goal, answer, choice or essay")
        count = sum(each.right for each in self.choice or ())
        if self.choice is not None and count != 1 and not self._is_without_answer(self.choice):
            raise field_types.wrong("one choice is right", "write right: true once", "choice")
        if self.once and not self.is_asked:
            raise field_types.wrong("once goes with a question", "leave it out", "once")
        if self.hidden and self.announce is None:
            raise field_types.wrong("a hidden task is announced", "add announce", "hidden")
        for key in ("at", "steps_tried", "vary", "bind"):
            only = "answer" if key == "at" else "goal"
            if ways and getattr(self, key) and only not in ways:
                text = "try" if key == "steps_tried" else key
                raise field_types.wrong(f"{text} goes with {only} only", "leave it out", text)
        return self

    @model_validator(mode="after")
    def _answered(self) -> "Task":
        for key in ("tries", "shuffle"):
            if getattr(self, key) and (self.choice is None or self.hidden):  # its order is in ask
                raise field_types.wrong(
                    f"{key} goes with a choice that is shown", "leave it out", key
                )
        if self.judged == GRADER and (self.goal is not None or self.tries):
            hint = "write hidden: true for a goal, and no tries"
            raise field_types.wrong("judged: grader goes with an answer", hint, "judged")
        return self

    def _is_without_answer(self, choices: "list[Choice]") -> bool:
        """Whether this is a choice as students get it: sealed, or for the grader alone."""
        is_bare = not any(each.right or each.when_wrong for each in choices)
        return is_bare and (self.judged == GRADER or all(each.sealed for each in choices))

    @property
    def is_asked(self) -> bool:
        """Whether the student types an answer."""
        is_for_grader = self.judged == GRADER and self.goal is None
        is_typed = self.essay or (is_for_grader and not self.hidden)
        return any((self.answer, self.choice, self.sealed, is_typed))


class LabDocument(Document, BaseModel):
    """A lab: the world of a scenario, tasks, and submissions that must pass or fail."""

    kind: Literal["lab"]
    """`lab`."""
    id: field_types.Word
    """Name that submissions give."""
    salt: field_types.Sentence | None = None
    """Of a class and year: other parameters are drawn; `rdmalab lab publish --salt` writes it."""
    params: dict[field_types.ParameterName, LabParameter] = {}  # type: ignore[assignment]
    """Parameters, drawn for each student."""
    steps: Steps = []
    """A lab has none: the student types them."""
    rules: Rules = Rules()
    """Limits for a student's lines."""
    guided: Truth = False
    """The tasks are judged after each line that is typed, and the next one is shown."""
    after: field_types.Sentence | None = None
    """Text that is shown when all tasks of a guided lab are done."""
    tasks: Annotated[list[Task], Field(min_length=1, max_length=MOST_TASKS)]
    """The tasks, in their order."""
    bars: Bars = Bars()
    """Bounds for `lab check`; students do not get them."""
    solutions: Solutions | None = None
    """Submissions that must pass, and that must fail; the file for students has none."""
    seal: Seal | None = None
    """In the file for students: the salt of its seals; `publish` writes it."""
    instructor: Instructor | None = None
    """The page for the instructor, which `rdmalab lab notes` prints; students never get it."""

    @model_validator(mode="after")
    def _consistent(self) -> "LabDocument":
        if self.steps:
            raise field_types.wrong("a lab has no steps", "write setup, tasks", "steps")
        seen: set[str] = set()
        for task in self.tasks:
            if task.id in seen:
                raise field_types.wrong(f"two tasks have the id {task.id}", "change one", "tasks")
            for need in task.needs:
                if need not in seen:
                    message = f"{task.id} needs {need}, which is no task above it"
                    raise field_types.wrong(message, "tasks above it only", "tasks")
            seen.add(task.id)
        for name in _named(self.solutions):
            if name not in seen:
                hint = f"one of {', '.join(seen)}"
                raise field_types.wrong(f"no task has the id {name}", hint, "solutions")
        return self

    @model_validator(mode="after")
    def _explained(self) -> "LabDocument":
        if self.instructor is not None:
            rejected = self.solutions.reject if self.solutions is not None else ()
            hidden = [task.id for task in self.tasks if task.hidden]
            self.instructor.check(hidden, [each.name for each in rejected])
        return self

    @property
    def price_of_apply(self) -> int:
        """Points for each use of `apply`, or SHUT."""
        if self.rules.doctor == SHUT:
            return SHUT
        if self.rules.apply is None:
            return SHUT if self.points and not self.guided else 0
        return self.rules.apply

    @property
    def points(self) -> int:
        """Of all tasks."""
        return sum(task.points for task in self.tasks)


def _named(solutions: Solutions | None) -> list[str]:
    """The tasks that solutions name."""
    if solutions is None:
        return []
    every = (*solutions.accept, *solutions.reject)
    failing = [each.task for each in solutions.reject if each.task is not None]
    return [*failing, *(name for each in every for name in each.answered)]
