"""The file for students: everything they need, and nothing of what is hidden."""

import yaml

from rdmalab.classroom.checking import leaks
from rdmalab.classroom.public import digest, published
from tests.classroom.labs import FOLDER, SEND, TEMPLATE, graded, loaded
from tests.each import each

SHOWN = {"id", "title", "points", "ask", "hidden", "announce", "needs", "hints"}
LABS = [path.name for path in sorted(FOLDER.glob("*.lab.yaml"))]


@each("name", LABS)
def test_no_text_of_a_hidden_task_is_in_it(name: str) -> None:
    lab = loaded((FOLDER / name).read_text())
    assert leaks(lab) == []
    public = published(lab)
    for task in lab.document.tasks:
        assert f"id: {task.id}" in public
        if task.hidden:
            assert task.announce is not None
            assert task.announce in " ".join(public.split()) or "\n" in task.announce
    document = yaml.safe_load(public)
    assert not {"solutions", "instructor"} & set(document)
    for task in document["tasks"]:
        assert not task.get("hidden") or set(task) <= SHOWN


def test_it_is_a_lab_with_the_same_digest() -> None:
    lab = loaded(TEMPLATE)
    student = loaded(published(lab))
    assert digest(student) == digest(lab)
    assert student.document.points == lab.document.points
    assert [step.line for step in student.scenario.steps] == [
        step.line for step in lab.scenario.steps
    ]
    assert digest(loaded(TEMPLATE.replace("Nothing.", "Nothing at all."))) != digest(lab)


def test_a_student_can_judge_what_is_public() -> None:
    result = graded(published(loaded(TEMPLATE)), SEND).results
    assert [each.passed for each in result] == [False, False, None]
    assert result[2].reason == "hidden, not judged here"


def test_a_leak_is_found() -> None:
    text = TEMPLATE.replace(
        "about: |-\n", "about: |-\n  B.cq0.total(wr_id=77, status=SUCCESS) == 1\n"
    )
    assert leaks(loaded(text)) == ["B.cq0.total(wr_id=77, status=SUCCESS) == 1"]
