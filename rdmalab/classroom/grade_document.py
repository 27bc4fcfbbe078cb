"""The grade of a submission, as a document: what `rdmalab grade --json` prints for each student."""

from pydantic import BaseModel, ConfigDict

from rdmalab.classroom.work_log import WorkRecord
from rdmalab.scenario.field_types import FORMAT
from rdmalab.version import VERSION


class Cause(BaseModel):
    """Why a task failed. id: slug of the cause that `why` names, empty if none fits."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    id: str = ""
    rationale: str = ""
    """The headline of `why`, or the right answer's feedback."""
    help: str = ""
    """The feedback that the lab has for it."""


class Result(BaseModel):
    """What came of one task."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    id: str
    points: int
    """What it is worth."""
    score: int = 0
    """What the student gets."""
    passed: bool | None = None
    """None: it was not judged; `reason` says why."""
    hidden: bool = False
    reason: str = ""
    """Why it was not judged: `blocked: needs fix`, `hidden, not judged here`, or the limit."""
    cause: Cause | None = None
    wrong: list[str] = []
    """Goals that are not met, each with what is the case; of hidden tasks for the instructor."""
    world: dict[str, str] = {}
    """The first of the varied worlds in which it failed."""


class FoulReport(BaseModel):
    """A line that was skipped."""

    line: int
    text: str
    why: str


class Grade(BaseModel):
    """The grade of one submission."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    rdmalab: int = FORMAT
    engine: str = VERSION
    lab: str = ""
    student: str = ""
    """Empty if the submission cannot be read."""
    file: str = ""
    """The file that was graded."""
    verdict: str = "graded"
    """`graded`, `cut`: a limit ended it, `unreadable`: no submission of this lab, `not-graded`: a
    fault of the lab or of rdmalab."""
    reason: str = ""
    """Why the verdict is not `graded`."""
    score: int = 0
    of: int = 0
    """The points of all tasks."""
    params: dict[str, str] = {}
    results: list[Result] = []
    foul: list[FoulReport] = []
    hints: list[str] = []
    """Hints that were taken and charged."""
    moves: int = 0
    """Commands that went to another moment."""
    record: WorkRecord | None = None
    """What the log of the submission says; None: it cannot be read."""
    work: str = ""
    """SHA-256 of the submission."""

    @property
    def passed(self) -> bool:
        """Whether every task is passed."""
        return self.verdict == "graded" and all(result.passed for result in self.results)
