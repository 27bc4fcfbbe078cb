"""The grade of a submission, as a document: what `rdmalab grade --json` prints for each student."""

import re
from collections.abc import Iterable, Iterator

from pydantic import BaseModel, Field

from rdmalab.classroom.work_log import WorkRecord
from rdmalab.scenario.field_types import FORMAT
from rdmalab.version import VERSION
from rdmalab.views import fmt


class Cause(BaseModel, use_attribute_docstrings=True):
    """The reason a task failed. id: slug of the cause that `why` names, empty if none fits."""

    id: str = ""
    rationale: str = ""
    """The headline of `why`, or the right answer's feedback."""
    help: str = ""
    """The feedback that the lab has for it."""
    of_call: bool = Field(default=False, exclude=True)
    """Whether it is that of a refused call, after which others may have succeeded."""


class Result(BaseModel, use_attribute_docstrings=True):
    """Outcome of one task."""

    id: str
    ask: str = ""
    """The text of the task; of a hidden one empty."""
    points: int
    """Points that it is worth."""
    score: int | float = 0
    """Points that the student gets."""
    fixed: bool = False
    """Whether a person gave the score."""
    remark: str = ""
    """Remark of a person about it."""
    passed: bool | None = None
    """None: it was not judged; `reason` says why."""
    hidden: bool = False
    by_hand: bool = False
    """A person marks it."""
    given: str = ""
    """The answer, if it asks for one; of a choice its letter and its text."""
    reason: str = ""
    """The reason it was not judged: `blocked: needs fix`, `hidden, not judged here`, or a limit. Of
    a passed task: `1 point less for hints`."""
    cause: Cause | None = None
    wrong: list[str] = []
    """Goals that are not met, each with what is the case; of hidden tasks for the instructor."""
    world: dict[str, str] = {}
    """The first of the varied worlds in which it failed."""

    @property
    def is_waiting(self) -> bool:
        """Whether it has an answer that a person has not marked yet."""
        return self.by_hand and bool(self.given) and not self.fixed

    def lacks(self, question: str) -> bool:
        """Whether the goal with this question is not met. Each `%{NAME}` stands for any text."""
        asked = ".+?".join(map(re.escape, re.split(r"%\{\w+\}", question)))
        return any(re.search(f"(^| ){asked}", wrong) for wrong in self.wrong)


class FoulReport(BaseModel):
    """A line that was skipped."""

    line: int
    text: str
    why: str


class Grade(BaseModel, use_attribute_docstrings=True):
    """The grade of one submission."""

    rdmalab: int = FORMAT
    engine: str = VERSION
    lab: str = ""
    student: str = ""
    """Student of the file, by the roster or by the name of folder or file; empty: unknown."""
    label: str = ""
    """The name that folder or file has."""
    file: str = ""
    """The file that was graded."""
    folder: str = ""
    """Its folder in a download of Moodle; empty elsewhere."""
    verdict: str = "graded"
    """`graded`, `cut`: a limit ended it, `unreadable`: no submission of this lab, `foreign`: it
    names another student, or nothing names who handed it in, `not-graded`: a fault of the lab or
    of rdmalab."""
    reason: str = ""
    """The reason the verdict is not `graded`."""
    score: int | float = 0
    of: int = 0
    """The points of all tasks."""
    version: str = ""
    """The other version of the lab for which the work was handed in; empty: it is this one."""
    handed_in: str = ""
    """Its time, in UTC: that of the file."""
    late_s: int = 0
    """Seconds after the due date."""
    penalty: float = 0
    """Points that are lost for that."""
    fixed: float | None = None
    """The score that a person gave for the whole lab; None: that of the tasks counts."""
    remark: str = ""
    """Remark of a person about the whole lab."""
    others: list[str] = []
    """Other works of the student, which do not count."""
    params: dict[str, str] = {}
    results: list[Result] = []
    foul: list[FoulReport] = []
    hints: list[str] = []
    """Hints that were taken and charged."""
    doctor: int = 0
    """Points that `why` and `apply` have cost, in a lab that prices them."""
    moves: int = 0
    """Commands that went to another moment."""
    record: WorkRecord | None = None
    """Counts from the log of the submission; None: it cannot be read."""
    work: str = ""
    """SHA-256 of the submission."""

    @property
    def log(self) -> str:
        """`intact`, `unchecked`, `edited` or `missing`; empty if the submission cannot be read."""
        return self.record.state if self.record is not None else ""

    @property
    def log_remark(self) -> str:
        """`log edited`, `log missing`; empty if it is whole or the submission cannot be read."""
        return f"log {self.log}" if self.log in ("edited", "missing") else ""

    @property
    def version_remark(self) -> str:
        """The remark that the work is for another version of the lab; empty if it is not."""
        return f"for another version of the lab: {self.version}" if self.version else ""

    @property
    def edits(self) -> str:
        """Differences between the log and the work, as one text; empty if there are none."""
        return "; ".join(self.record.edits) if self.record is not None else ""

    @property
    def mark(self) -> float:
        """The score without what is lost for a late work, or the one that a person gave."""
        return self.fixed if self.fixed is not None else round(max(0, self.score - self.penalty), 2)

    @property
    def is_judged(self) -> bool:
        """Whether there is a score: of the work, perhaps up to a limit, or given by a person."""
        given = self.fixed is not None or any(result.fixed for result in self.results)
        return given or self.verdict in ("graded", "cut")

    @property
    def complaint(self) -> str:
        """`unreadable: FILE: …`, why it was not judged; a mistake in the text names the file."""
        names_it = self.reason.startswith(f"{self.file}:")
        return f"{self.verdict}: {'' if names_it else f'{self.file}: '}{self.reason}"

    @property
    def who(self) -> str:
        """The student, or what is known instead."""
        return self.student or self.label or self.file

    @property
    def passed(self) -> bool:
        """Whether every task is passed."""
        return self.verdict == "graded" and all(
            result.passed or result.by_hand for result in self.results
        )


_MOST_FILES = 3  # that a complaint about many works names


def complaints(grades: Iterable[Grade]) -> Iterator[str]:
    """The reasons works were not judged: a line for all works that have the same."""
    of: dict[tuple[str, str], list[Grade]] = {}
    for grade in grades:
        of.setdefault((grade.verdict, grade.reason), []).append(grade)
    for (verdict, reason), found in of.items():
        if len(found) == 1:
            yield found[0].complaint
            continue
        files = [each.file for each in found[:_MOST_FILES]]
        named = ", ".join([*files, *(["…"] if len(found) > len(files) else [])])
        yield f"{verdict}: {fmt.count(len(found), 'work')} ({named}): {reason}"
