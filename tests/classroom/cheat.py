"""A student who tries ways to points without work in one lab."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from rdmalab.classroom import submission
from rdmalab.classroom.grading import Item, grade_submission
from rdmalab.classroom.instructor_model import Submission
from rdmalab.classroom.lab_file import LabFile, loads
from rdmalab.classroom.owner import given
from rdmalab.classroom.public import digest
from rdmalab.classroom.trust import Ways
from tests.classroom.labs import FOLDER, logged

STUDENTS = [str(number) for number in range(1, 9)]
SUFFIX = ".lab.yaml"
PAIR = re.compile(r"\b([AB])\.qp\d+")


@dataclass(slots=True)
class Cheat:
    """A student who tries ways in one lab."""

    name: str
    text: str
    lab: LabFile
    ways: Ways
    tried: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str) -> "Cheat":
        text = (FOLDER / f"{name}{SUFFIX}").read_text("utf-8")
        labs = [loads(text, name, student=each) for each in STUDENTS]
        return cls(name, text, labs[0], Ways(text, name, labs))

    def graded(self, work: Submission, owner: str = STUDENTS[0]) -> float:
        """The share that the grader gives to a submission."""
        text = submission.written(work)
        grade = grade_submission(Item(self.text, self.name, text, "w.yaml", given(owner)))
        return grade.score / self.lab.document.points

    def work(self, lines: Sequence[str], **more: object) -> Submission:
        """A submission with these lines, as the student's app writes it."""
        named = f"{self.lab.document.id} {digest(self.lab)}"
        student = STUDENTS[0]
        work = Submission(
            rdmalab=1, kind="submission", lab=named, student=student, lines=list(lines)
        )
        return logged(work.model_copy(update=more))

    @property
    def solved(self) -> list[str]:
        """The lines of the first solution that is accepted."""
        assert self.lab.document.solutions is not None
        return self.lab.document.solutions.accept[0].lines
