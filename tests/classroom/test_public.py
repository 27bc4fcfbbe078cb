"""The file for students: everything they need, and nothing of what is hidden."""

from typing import Any

import pytest
import yaml

from rdmalab.classroom import lab_file
from rdmalab.classroom.answers import NOTED, verdict
from rdmalab.classroom.checking import leaks
from rdmalab.classroom.instructor_model import Submission
from rdmalab.classroom.judging import JudgedWork
from rdmalab.classroom.lab_file import LabFile
from rdmalab.classroom.lab_session import LabSession
from rdmalab.classroom.public import digest, is_published, other_lab, published
from tests.classroom.labs import FOLDER, SEND, TEMPLATE, graded, judged, loaded, text_of
from tests.each import a_tenth, each

SHOWN = {"id", "title", "points", "ask", "hidden", "announce", "needs", "hints"}
LABS = [path.name for path in sorted(FOLDER.glob("*.lab.yaml"))]
SHIPPED = FOLDER.parents[1] / "scenarios/labs"


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


@each("name", LABS)
def test_no_right_answer_is_in_it(name: str) -> None:
    lab = loaded((FOLDER / name).read_text())
    for task, given in zip(lab.document.tasks, tasks_of(published(lab)), strict=True):
        assert not {"answer", "at", "sealed", "tries"} & set(given), task.id
        assert all(set(choice) == {"text"} for choice in given.get("choice", ())), task.id
        assert given.get("judged") == ("grader" if task.is_asked and not task.hidden else None)


def tasks_of(text: str) -> list[dict[str, Any]]:
    tasks: list[dict[str, Any]] = yaml.safe_load(text)["tasks"]
    return tasks


TWINS = FOLDER.parents[1] / "scenarios/labs"


@each("name", a_tenth(LABS))
def test_the_lab_that_ships_is_the_published_twin(name: str) -> None:
    """Written by `rdmalab lab publish labs/NAME --live -o scenarios/labs/NAME.lab.yaml`."""
    assert published(loaded((FOLDER / name).read_text()), live=True) == (TWINS / name).read_text()


def test_every_lab_has_a_twin_in_which_nothing_of_the_instructor_stands() -> None:
    assert {path.name for path in TWINS.iterdir()} == set(LABS)
    for path in TWINS.iterdir():
        text = path.read_text()
        assert not any(f"{word}:" in text for word in ("solutions", "instructor", "right", "bars"))


ASKED = (
    "  - id: c\n    points: 1\n    tries: 2\n    shuffle: true\n    choice:\n"
    "      - {text: one, when_wrong: 'no, ${size} is more'}\n"
    "      - {text: two, when_wrong: 'not two'}\n      - {text: three, right: true}\n"
    "  - {id: n, points: 1, answer: 'A.qp0.sq.capacity + ${size}'}\n"
    "  - id: e\n    points: 1\n    answer: log.last.errno\n"
    "    at: [{do: modify_qp A.qp0 state=RTR, errno: EINVAL}]\n"
    "  - {id: g, points: 1, judged: grader, answer: 3}\n"
)
PARAMS = "params: {size: {from: 1, to: 9}}\n"


@each("student", ["1", "2", "3", "4"])
def test_answers_are_sealed_where_they_are_judged_at_once(student: str) -> None:
    """The student reads what the instructor's file says, and no text of it is in the handout."""
    text = text_of(ASKED, PARAMS)
    lab = loaded(text, student)
    live = published(loaded(text), live=True)
    assert not any(word in live for word in ("right", "not two", "no, ", "errno", "capacity"))
    first = tasks_of(live)[0]["choice"]
    assert len({len(choice["sealed"]) for choice in first}) == 1
    handout = loaded(live, student)
    size = int(lab.params["size"])
    assert [c.text for c in handout.document.tasks[0].choice or ()] == [
        c.text for c in lab.document.tasks[0].choice or ()
    ]
    for index, answers in enumerate(
        (("1", "2", "3", "4", "x"), (str(8 + size), str(9 + size), "EINVAL"),
         ("einval", "22", "EPERM", "0"))
    ):  # fmt: skip
        for given in answers:
            assert verdict(handout, index, given) == verdict(lab, index, given), (index, given)
    assert verdict(handout, 3, "3").right is None
    assert published(handout, live=True) == live
    assert digest(handout) == digest(lab) == digest(loaded(published(handout)))


def test_with_too_many_draws_the_grader_judges_a_value() -> None:
    params = "params: {size: {from: 1, to: 600}}\n"
    text = text_of(ASKED.replace("A.qp0.sq.capacity + ", "").split("  - id: e")[0], params)
    choice, value = tasks_of(published(loaded(text), live=True))
    assert "sealed" in choice["choice"][0]
    assert (value["judged"], "answer" in value, "sealed" in value) == ("grader", False, False)


def test_what_the_grader_alone_judges_is_noted_and_blocks_nothing() -> None:
    tasks = ASKED + "  - {id: z, points: 1, needs: [c, g], goal: [A.qp0.state == RTS]}\n"
    handout = published(loaded(text_of(tasks, PARAMS)))
    grade = judged(handout, JudgedWork([], {"c": "1", "n": "7", "g": "3"}), public=True)
    lines = [(each.passed, each.reason) for each in grade.results]
    assert lines[:2] == [(None, NOTED)] * 2
    assert lines[2:] == [(False, ""), (None, NOTED), (True, "")]
    whole = judged(text_of(tasks, PARAMS), JudgedWork([], {"g": "3"}), public=True)
    assert whole.results[3].reason == NOTED


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


# --------------------------------------------------------------------------- salt
def salted(text: str, salt: str) -> LabFile:
    return lab_file.loads(text, "x.lab.yaml", student="s1", salt=salt)


def work_on(lab: str) -> Submission:
    session = LabSession(lab, "x.lab.yaml", "s1")
    return session.submission()


def test_the_salt_is_a_key_of_the_published_lab() -> None:
    """Drawn with it: the sheet, the student in the app, and the grader."""
    handout = published(salted(TEMPLATE, "2026"))
    assert "salt: 2026\n" in handout
    drawn = [lab.params for lab in (salted(TEMPLATE, "2026"), loaded(handout, "s1"))]
    assert drawn[0] == drawn[1] == dict(LabSession(handout, "x", "s1").lab.params)
    others = [salted(TEMPLATE, str(salt)).params for salt in range(20)]
    assert any(each != drawn[0] for each in others)
    assert published(loaded(handout)) == handout
    assert "salt" not in published(loaded(TEMPLATE))


def test_the_salt_does_not_change_the_version() -> None:
    assert digest(salted(TEMPLATE, "2026")) == digest(loaded(TEMPLATE))


@pytest.mark.parametrize(
    ("drawn", "graded", "wrong"),
    [
        ("2026", "2026", ""),
        ("", "", ""),
        ("2026", "", "with the salt 2026, those of the lab with no salt: --salt 2026"),
        ("2026", "2027", "with the salt 2026, those of the lab with the salt 2027: --salt 2026"),
        ("", "2026", "with no salt, those of the lab with the salt 2026: grade it without a salt"),
    ],
)
def test_a_work_drawn_with_another_salt_is_one_clear_error(
    drawn: str, graded: str, wrong: str
) -> None:
    handout = published(salted(TEMPLATE, drawn))
    answer = other_lab(salted(TEMPLATE, graded), work_on(handout))
    assert answer == (f"its parameters were drawn {wrong}" if wrong else "")


@each("name", a_tenth(LABS))
def test_a_published_file_is_recognised_and_that_of_the_instructor_is_not(name: str) -> None:
    text = (FOLDER / name).read_text()
    lab = loaded(text)
    for live in (False, True):
        assert is_published(published(lab, live=live).encode())
        assert is_published((SHIPPED / name).read_bytes())
    assert not is_published(text.encode())


def test_a_lab_with_a_right_answer_alone_is_no_published_file() -> None:
    lab = "  - id: a\n    ask: x\n    choice:\n    - {text: one, right: true}\n    - text: two\n"
    handed_out = published(loaded(text_of(lab)))
    assert is_published(handed_out.encode())
    assert not is_published(f"# to be marked\n{handed_out}".encode())
    assert not is_published(text_of(lab).encode())
    assert not is_published(b"\xff kind: lab")
