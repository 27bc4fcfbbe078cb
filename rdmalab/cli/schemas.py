"""The JSON Schemas that `rdmalab schema` prints, all made from pydantic models.

Pure rooms build the documents of `why`, `explain` and `repl` and do not load pydantic. The models
of these documents are here. Only the command `schema` imports this module.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, Field, WithJsonSchema

from rdmalab.classroom.course_file import Course
from rdmalab.classroom.grade_document import Grade
from rdmalab.classroom.gradebook import Gradebook
from rdmalab.classroom.instructor_model import Submission
from rdmalab.classroom.model import LabDocument
from rdmalab.doctor.evidence.finding import Verdict
from rdmalab.doctor.evidence.outcome import Status
from rdmalab.render.json_rows import schema_of_view
from rdmalab.scenario.coverage import CoverageModel
from rdmalab.scenario.field_types import Printed
from rdmalab.scenario.lessons import LessonsModel
from rdmalab.scenario.model import Document
from rdmalab.scenario.report import RunModel, schema_of_document, schema_of_file
from rdmalab.views.changes import ChangeRow
from rdmalab.views.columns import COLUMNS
from rdmalab.views.counters import CountersRow
from rdmalab.views.queues import QpRow
from rdmalab.views.states import DiagramRow
from rdmalab.views.story import StoryRow
from rdmalab.workbench.view_requests import AsyncRow
from rdmalab.workbench.view_rows import CodeRow

Slug = Annotated[str, Field(pattern="^[a-z0-9-]+$")]
Event = Annotated[int, Field(ge=-1)]
_VERDICTS = WithJsonSchema({"enum": [verdict.name for verdict in Verdict]})
# Those that are named are drawn, or their modules describe rows that no other import brings.
_ROWS = {*COLUMNS, AsyncRow, ChangeRow, CodeRow, CountersRow, DiagramRow, QpRow, StoryRow}
_VALUE = WithJsonSchema(schema_of_view(sorted(_ROWS, key=lambda cls: cls.__name__)))
_STATUSES = WithJsonSchema({"enum": [status.name.lower() for status in Status]})


# --------------------------------------------------------------------------- why
class Evidence(Printed):
    """A fact that a check found."""

    text: str
    event: Event | None
    """The event of the fact; null if the fact holds now."""


class Finding(Printed):
    """Finding of one check."""

    slug: Slug
    """The text that why(…) is compared with."""
    item: Annotated[int, Field(ge=0)]
    """Its number in the checklist."""
    about: str
    """The subject of the check: A.qp0.wr[7]."""
    rule: str
    """The rule that the check applies."""
    source: str
    """The source of the rule."""
    verdict: Annotated[str, _VERDICTS]
    evidence: list[Evidence]


class Cure(Printed):
    """A fix."""

    lines: list[str]
    """Commands that fix it."""
    program: str
    """Change that only the author of the program can make; empty if the commands suffice."""
    works: bool | None
    """Whether it worked on a copy of the session; null: not tested."""
    failure: str
    """The reason it is not sufficient."""
    ends: str
    """The reason it only ends the wait or repeats the call and corrects no program; or empty."""


class WhyModel(Printed, title="rdmalab why --json"):
    """One answer of `why`."""

    rdmalab: Literal[1]
    """Version of this document."""
    question: str
    """The question; empty: all subjects."""
    about: str
    """The subject examined first; empty: no failure."""
    event: Event
    """The last event before the answer."""
    cause: Slug
    """The slug of the root cause, or of the status."""
    is_: Annotated[str, _STATUSES, Field(alias="is")]
    sentence: str
    """The status in a sentence."""
    since: Event | None
    """The event that caused the status."""
    causes: list[Finding]
    """The root causes, the first one first."""
    stations: list[Finding]
    """Findings between the root causes and the symptom."""
    warnings: list[Finding]
    """Suspicious, without a failure so far."""
    waits: list[Finding]
    """No failure: what has to happen first."""
    next: str
    """The next event of pending work; empty if there is none."""
    ruled_out: list[Slug]
    """Checks that did not match."""
    unknown: list[Slug]
    """Checks that could not be completed."""
    cure: Cure | None


# --------------------------------------------------------------------------- explain
class Section(Printed):
    """An empty heading: text. read: what was read out of a line of a log. look at: commands that
    test the causes, likeliest first. shown by: a scenario."""

    heading: str
    lines: list[str]


class ExplainModel(Printed, title="rdmalab explain --json"):
    """The article on a word."""

    version: Literal[1]
    name: str
    """The word that means this and nothing else."""
    kind: str
    """The kind of the word, with its number."""
    title: str
    sections: list[Section]
    see_also: list[str]


# --------------------------------------------------------------------------- repl
class Fault(Printed):
    """Error of a line; with `not understood` and `bug` nothing was executed."""

    kind: Literal["refused", "not understood", "bug"]
    message: str
    column: Annotated[int, Field(ge=1)]
    hint: str
    rule: str | None


class ReplyModel(Printed):
    """The reply to a line."""

    line: str
    """The command as it was written."""
    line_number: Annotated[int, Field(ge=1)]
    depth: Annotated[int, Field(ge=0)]
    """1: a short form stands for the command."""
    event: int | None
    """The number of the event; null if nothing changed."""
    at_ns: Annotated[int, Field(ge=0)]
    """The virtual time after the command."""
    value: Annotated[object, _VALUE]
    """Result of the command. Of `show`: rows, `row` names the class of each."""
    said: list[str]
    """The output of load, next, open, continue and new, and what an open lab says to the line."""
    errno: str | None
    """EINVAL, …; null if the verb succeeded."""
    error: Fault | None
    warnings: list[str]
    """Effects of the verb that a reader may not expect."""


class ReplModel(Printed, title="rdmalab repl --json"):
    """The whole conversation."""

    version: Literal[1]
    replies: list[ReplyModel]


# --------------------------------------------------------------------------- compare
class CauseModel(Printed):
    """A cell of the profile table that explains a difference."""

    name: str
    """`joins_acks`, `errnos[send-state]`, `caps.max_qp`."""
    sentence: str
    """Meaning of the cell."""
    left: str
    """Its value of the first profile."""
    right: str
    """Its value of the other profile."""
    asked_by: str
    """The module that read it; empty: none was seen to read it."""


class DifferenceModel(Printed):
    """The first event that differs; if none does, the first step that ends differently."""

    event: Event | None
    """Null: no event differs, only the outcome of the step."""
    step: Annotated[int, Field(ge=0)]
    """The number of the step; 0: before the first."""
    line: str
    """The command of the step; empty for a note."""
    left: list[str]
    """Outcome under the first profile."""
    right: list[str]
    """Outcome under the other profile."""
    causes: list[CauseModel]
    """With these cells of the other profile, and not with fewer, the event is as there."""


class ComparedModel(Printed):
    """Two profiles."""

    left: str
    right: str
    difference: DifferenceModel | None
    """Null: the scenario does the same under both."""


class CompareModel(Printed, title="rdmalab compare --json"):
    """The comparisons of the first profile with each other one."""

    rdmalab: Literal[1]
    """Version of this document."""
    file: str
    title: str
    compared: list[ComparedModel]


# --------------------------------------------------------------------------- selfcheck
class CheckModel(Printed):
    """One check."""

    name: str
    state: Literal["ok", "attention", "failed", "note"]
    """attention: works with a limit. failed: does not work. note: optional, or not known."""
    found: str
    remedy: str
    """Remedy; empty: nothing to do."""


class SelfcheckModel(Printed, title="rdmalab selfcheck --json"):
    """All checks."""

    rdmalab: Literal[1]
    """Version of this document."""
    version: str
    checks: list[CheckModel]


_PRINTED: dict[str, type[BaseModel]] = {
    "run": RunModel,
    "repl": ReplModel,
    "lessons": LessonsModel,
    "coverage": CoverageModel,
    "explain": ExplainModel,
    "why": WhyModel,
    "grade": Grade,
    "gradebook": Gradebook,
    "compare": CompareModel,
    "selfcheck": SelfcheckModel,
}


_FILES: dict[str, type[BaseModel]] = {
    "scenario": Document,
    "lab": LabDocument,
    "course": Course,
    "submission": Submission,
}


def schema_of(name: str) -> dict[str, object]:
    """The JSON Schema of a file, or of what a command prints with --json."""
    if name in _FILES:
        return schema_of_file(_FILES[name], name)
    return schema_of_document(_PRINTED[name], name)
