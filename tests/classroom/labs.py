"""Short words for tests of labs: a small lab from its parts, and the lab of `lab new`."""

from collections.abc import Mapping
from importlib import resources
from pathlib import Path

from rdmalab.classroom import lab_file
from rdmalab.classroom.grade_document import Grade
from rdmalab.classroom.instructor_model import Submission
from rdmalab.classroom.judging import JudgedWork, grade
from rdmalab.classroom.lab_file import LabFile
from rdmalab.classroom.work_log import WorkLog

NEW_LAB = (resources.files("rdmalab.classroom") / "template.lab.yaml").read_text("utf-8")
TEMPLATE = NEW_LAB.replace("    tries: 1\n    shuffle: true\n", "").replace(
    "{from: 9, to: 64,", "{choose: [16, 32, 64],"
)
"""The lab of `lab new`, but with a known order of the choices, and three sizes."""
FOLDER = Path(__file__).parents[2] / "instructor/labs"
RECV = "post_recv B.qp0 sg=B.mr0[0:64]"
SEND = "post_send A.qp0 wr_id=7 opcode=SEND sg=A.mr0[0:16] flags=SIGNALED"


def text_of(tasks: str, more: str = "") -> str:
    """A lab with a connected pair and these tasks."""
    return (
        f"rdmalab: 1\nkind: lab\nid: tried\ntitle: t\n{more}"
        f"setup:\n  - use rc_pair\ntasks:\n{tasks}"
    )


def loaded(text: str, student: str = "1", world: Mapping[str, str] = lab_file.NO_WORLD) -> LabFile:
    return lab_file.loads(text, "x.lab.yaml", student=student, world=world)


def graded(text: str, *lines: str, **answers: str) -> Grade:
    """The grade of these lines and answers."""
    return judged(text, JudgedWork(lines, answers))


def judged(text: str, work: JudgedWork, *, public: bool = False) -> Grade:
    def reopen(world: Mapping[str, str]) -> LabFile:
        return loaded(text, world=world)

    return grade(loaded(text), work, reopen, public=public)


def passed(text: str, *lines: str, **answers: str) -> list[bool | None]:
    return [result.passed for result in graded(text, *lines, **answers).results]


def logged(work: Submission) -> Submission:
    """The same work with the log that a lab at a prompt writes."""
    log = WorkLog()
    for number in range(1, len(work.lines) + 1):
        log.add(f"line {number} event {number}")
    for task, answer in work.answers.items():
        log.add(" ".join(["answer", task, *([answer] if answer.isdecimal() else [])]))
    log.add("submit 0")
    return work.model_copy(update={"log": log.entries})


def plain_lab(folder: Path, name: str, *changes: tuple[str, str]) -> str:
    """The file of a shipped lab whose answers stand in one order and may be tried again."""
    text = (FOLDER / f"{name}.lab.yaml").read_text()
    for old, new in (("    shuffle: true\n", ""), ("    tries: 1\n", ""), *changes):
        text = text.replace(old, new)
    file = folder / f"{name}.lab.yaml"
    file.write_text(text)
    return str(file)
