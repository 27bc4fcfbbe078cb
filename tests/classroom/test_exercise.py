"""A lab from Python: the rules, the grade, a submission and its continuation."""

import sys
from pathlib import Path

import pytest

from rdmalab import Exercise, disk
from rdmalab.classroom import submission
from rdmalab.classroom.answers import WrongTask
from rdmalab.classroom.exercise import RuleBroken
from rdmalab.classroom.lab_session import WrongWork
from rdmalab.classroom.owner import ANYONE
from rdmalab.cli import main
from rdmalab.scenario.source import FileError
from tests.classroom.labs import FOLDER

LAB = str(FOLDER / "sq-full.lab.yaml")
PROGRAM = Path(__file__).parents[1] / "pyverbs_programs/rc_pingpong.py"
POST = "post_send A.qp0 opcode=SEND sg=A.mr0[0:64]"


def test_lines_answers_and_hints_are_kept_and_judged() -> None:
    lab = Exercise(LAB, "s1")
    assert lab.do(POST)[-1].failed
    assert lab.look("log.last.errno == ENOMEM")
    lab.do("show A.qp0; why A.qp0")
    assert lab.work.lines == [POST]
    with pytest.raises(WrongTask, match="no task is called sea: explain see"):
        lab.answer("sea", "ENOMEM")
    with pytest.raises(WrongTask, match="deliver asks for no answer"):
        lab.answer("deliver", "1")
    lab.answer("see", " ENOMEM ")
    assert lab.hint("see").startswith("Type: ")
    assert lab.hint("see") == ""
    grade = lab.grade()
    assert (grade.student, grade.score, grade.results[1].passed) == ("s1", 1, True)
    assert lab.report.startswith("sq-full  s1  1 of ")


def test_a_line_that_is_not_allowed_is_not_run() -> None:
    lab = Exercise(LAB)
    before = lab.session.world.event
    with pytest.raises(RuleBroken, match="fault is not allowed in this lab"):
        lab.do("fault drop count=1")
    assert lab.session.world.event == before
    assert lab.work.lines == []
    assert lab.work.student == ANYONE


def test_what_was_handed_in_can_be_continued(tmp_path: Path) -> None:
    file = str(tmp_path / "work.yaml")
    lab = Exercise(LAB, "s1")
    lab.do(POST)
    lab.answer("see", "ENOMEM")
    word = lab.submit(file)
    assert submission.loads(word, "") == submission.loads(Path(file).read_text(), file)
    again = Exercise(LAB, work=file)
    assert again.session.world.event == lab.session.world.event
    assert again.grade() == lab.grade()
    again.do("poll_cq A.cq0")
    again.submit(file)
    assert len(submission.loads(Path(file).read_text(), file).lines) == 2
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(disk.FileExistsAsOther):
        lab.submit(str(tmp_path / "notes.txt"))
    before = Path(file).read_text()
    with pytest.raises(disk.FileExistsAsOther):
        Exercise(LAB, student="another").submit(file)
    assert Path(file).read_text() == before
    with pytest.raises(WrongWork, match="of the lab sq-full, not of access"):
        Exercise(str(FOLDER / "access.lab.yaml"), work=file)
    with pytest.raises(FileError, match=r"notes\.txt"):
        Exercise(LAB, work=str(tmp_path / "notes.txt"))


# --------------------------------------------------------------------------- a pyverbs program
def program(folder: Path, rounds: int, size: int = 64) -> str:
    """The ping-pong of the examples, with so many rounds of so many bytes."""
    text = PROGRAM.read_text()
    assert "ROUNDS = 64, 100" in text
    text = text.replace("ROUNDS = 64, 100", f"ROUNDS = {size}, {rounds}")
    (folder / "pingpong.py").write_text(text)
    return str(folder / "pingpong.py")


def test_a_pyverbs_program_solves_a_lab(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", [""])
    path = str(FOLDER / "own-program.lab.yaml")
    params = Exercise(path, "s1").work.lab.params
    rounds, size = int(params["rounds"]), int(params["bytes"])
    work = str(tmp_path / "work.yaml")
    solve = ["python", "--lab", path, "--student", "s1", "--submit", work]
    assert main([*solve, program(tmp_path, rounds, size)]) == 0
    assert "+ rounds  6 of 6" in capfd.readouterr().err
    assert main(["grade", path, work, "--student", "s1", "--require", "8"]) == 0
    assert main([*solve, program(tmp_path, rounds - 1, size)]) == 0
    assert "- rounds  0 of 6" in capfd.readouterr().err
    assert main(["grade", path, work, "--student", "s1", "--require", "8"]) == 1


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ("lines: 20", ""),  # one program is no line for each of its calls
        ("events: 300", "stopped at the limit of this lab: 300 events after the setup"),
        ("time: 100us", "stopped at the limit of this lab: 100 us of virtual time"),
    ],
)
def test_a_program_ends_at_the_limits_and_keeps_what_it_has_reached(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
    limits: str, expected: str,
) -> None:  # fmt: skip
    monkeypatch.setattr(sys, "argv", [""])
    text = (FOLDER / "own-program.lab.yaml").read_text()
    assert "rules:" not in text
    lab = tmp_path / "own.lab.yaml"
    lab.write_text(text.replace("\ntasks:", f"\nrules: {{limits: {{{limits}}}}}\ntasks:", 1))
    work = str(tmp_path / "work.yaml")
    solve = ["python", "--lab", str(lab), "--student", "s1", "--submit", work]
    code = main([*solve, program(tmp_path, 100)])
    answer = capfd.readouterr().err
    assert expected in answer
    assert code == (1 if expected else 0)
    assert "+ pair" in answer
    assert main(["grade", str(lab), work, "--student", "s1"]) == 0
    graded = capfd.readouterr().out
    assert "cut" not in graded
    assert len(submission.loads(Path(work).read_text(), work).lines) <= 20 + 280 * bool(expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--student", "s1"], "--student and --submit go with --lab"),
        (["--lab", LAB, "--profile", "rxe"], "--lab and --profile exclude each other"),
        (["--lab", "none.lab.yaml"], "none.lab.yaml"),
        (["--lab", LAB, "--student", "a b"], 'student "a b": an id has letters'),
    ],
)
def test_what_a_program_may_not_ask_for(
    options: list[str], message: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["python", *options, program(tmp_path, 1)]) == 2
    assert message in capfd.readouterr().err
