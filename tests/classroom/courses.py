"""A course for tests: labs, a roster, and a download of Moodle for each lab."""

import os
from collections.abc import Sequence
from pathlib import Path

from rdmalab.classroom import submission
from rdmalab.classroom.instructor_model import Submission
from rdmalab.classroom.public import digest
from tests.classroom.labs import RECV, TEMPLATE, loaded, logged

ESSAY = """  - id: essay
    points: 2
    ask: Why does a SEND need a receive?
    essay: true
solutions:
"""


def lab_text(name: str, *, essay: bool = False) -> str:
    """The lab of `lab new` under another id, perhaps with a question that a person marks."""
    text = TEMPLATE.replace("LAB-ID", name)
    return text.replace("solutions:\n", ESSAY, 1) if essay else text


def handed_in(lab: str, student: str, *lines: str, **answers: str) -> str:
    """A submission of this lab's text. answers: with _ for - in the ids of tasks."""
    document = loaded(lab).document
    work = Submission(
        rdmalab=1, kind="submission", lab=f"{document.id} {digest(loaded(lab))}", student=student,
        lines=list(lines), answers={key.replace("_", "-"): text for key, text in answers.items()},
    )  # fmt: skip
    return submission.written(logged(work))


def right(lab: str, student: str, **answers: str) -> str:
    """A submission that gets all points that are not given by hand."""
    size = loaded(lab, student).params["size"]
    line = f"post_send A.qp0 opcode=SEND sg=A.mr0[0:{size}]"
    return handed_in(lab, student, RECV, line, answer_of_b="2", **answers)


class CourseFolder:
    """A folder with course.yaml, labs, class.csv and downloads. texts: of the labs by id."""

    def __init__(self, folder: Path, students: int, labs: Sequence[str] = ("one", "two")) -> None:
        self.folder = folder
        self.students = [f"s{number:03}" for number in range(1, students + 1)]
        self.texts = {name: lab_text(name, essay=name == labs[-1]) for name in labs}
        rows = [f"First{n},Last{n},{each},{each}@uni.edu" for n, each in enumerate(self.students)]
        heads = "First name,Last name,ID number,Email address"
        (folder / "class.csv").write_text("\n".join([heads, *rows]) + "\n")
        entries = ""
        for name, text in self.texts.items():
            (folder / f"{name}.lab.yaml").write_text(text)
            (folder / "downloads" / name).mkdir(parents=True)
            entries += f"  - lab: {name}.lab.yaml\n    works: downloads/{name}\n"
            entries += "    due: 2026-11-30\n"
        entries += "    weight: 2\n"
        self.path = folder / "course.yaml"
        self.path.write_text(
            "rdmalab: 1\nkind: course\ntitle: RDMA, winter\nroster: class.csv\npenalty: 10\n"
            f"labs:\n{entries}"
        )

    def moodle(self, student: str) -> str:
        """The folder of a student in a download of Moodle."""
        number = self.students.index(student)
        return f"First{number} Last{number}_{9000 + number}_assignsubmission_file_"

    def put(self, lab: str, student: str, text: str, name: str = "work.yaml", day: int = 1) -> Path:
        """Hand in a file, on a day of November 2026."""
        path = self.folder / "downloads" / lab / self.moodle(student) / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        at_s = 1_793_491_200 + (day - 1) * 86_400 + 43_200  # noon, UTC
        os.utime(path, (at_s, at_s))
        return path
