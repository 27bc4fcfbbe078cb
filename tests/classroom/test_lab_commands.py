"""`rdmalab lab` and `rdmalab grade` at the command line."""

import json
from importlib import import_module
from pathlib import Path

import pytest

from rdmalab.cli import Exit, main
from rdmalab.tui import launch
from tests.classroom.labs import TEMPLATE
from tests.classroom.test_grading import handed_in, right


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.lab.yaml").write_text(TEMPLATE)
    return tmp_path / "x.lab.yaml"


def test_a_lab_from_its_beginning_to_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A lecturer: new, check, draw, publish, grade, read the table."""
    monkeypatch.chdir(tmp_path)
    assert main(["lab", "new", "mine"]) == Exit.WELL
    assert main(["lab", "new", "mine"]) == Exit.USAGE
    assert main(["lab", "check", "mine.lab.yaml", "--students", "2"]) == Exit.WELL
    assert main(["run", "mine.lab.yaml"]) == Exit.WELL
    capsys.readouterr()
    (tmp_path / "class.csv").write_text("id,name\ns1,x\ns2,y\n")
    assert main(["lab", "draw", "mine.lab.yaml", "--roster", "class.csv", "--json"]) == Exit.WELL
    assert set(json.loads(capsys.readouterr().out)) == {"s1", "s2"}
    assert main(["lab", "publish", "mine.lab.yaml", "-o", "handout.lab.yaml"]) == Exit.WELL
    assert "solutions" not in (tmp_path / "handout.lab.yaml").read_text()
    digest = capsys.readouterr().err.split()[-1]
    works = tmp_path / "works"
    works.mkdir()
    named = right("s1", TEMPLATE.replace("LAB-ID", "mine"))
    lines = [line for line in named.splitlines() if not line.startswith("lab:")]
    (works / "1.yaml").write_text("\n".join([*lines, f"lab: mine {digest}"]))
    (works / "2.txt").write_text("nothing of that kind")
    words = ["grade", "mine.lab.yaml", "works", "--roster", "class.csv", "--out", "marks"]
    assert main([*words, "--alike", "0.5"]) == Exit.WELL
    said = capsys.readouterr()
    assert "mine  s1  5 of 5" in said.out
    assert "unreadable" in said.out
    assert "nothing handed in: s2" in said.err
    assert (tmp_path / "marks/grades.csv").read_text().count("\n") == 3
    assert (tmp_path / "marks/reports/s1.txt").exists()
    assert main([*words, "--require", "6"]) == Exit.FAILED


@pytest.mark.parametrize("form", ["text", "json", "csv", "junit", "gradescope", "moodle"])
def test_each_form_names_the_student(
    form: str, lab: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("w.yaml").write_text(handed_in("s9", "run 1us"))
    assert main(["grade", str(lab), "w.yaml", "--format", form, "--jobs", "1"]) == Exit.WELL
    out = capsys.readouterr().out
    assert ("s9" in out) or form == "gradescope"


def test_what_is_wrong_is_said_in_a_line(lab: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lab.write_text(TEMPLATE.replace("cause: rnr-infinite", "cause: loss"))
    assert main(["lab", "check", str(lab), "--students", "1"]) == Exit.FAILED
    assert "deliver must fail by loss" in capsys.readouterr().out
    assert main(["run", str(lab)]) == Exit.FAILED
    lab.write_text(TEMPLATE.replace("points: 3", "pionts: 3"))
    for words in (
        ["lab", "check"],
        ["lab", "publish", "-o", "y"],
        ["lab", "draw", "--student", "s"],
    ):
        assert main([*words, str(lab)]) == Exit.USAGE
        assert 'no key "pionts" here' in capsys.readouterr().out
    assert main(["run", str(lab)]) == Exit.USAGE
    Path("w.yaml").write_text(handed_in("s9", "run 1us"))
    assert main(["grade", str(lab), "w.yaml"]) == Exit.BUG  # no student pays for it
    assert main(["grade", str(lab), "none.yaml"]) == Exit.USAGE
    assert main(["grade", "none.lab.yaml", "w.yaml"]) == Exit.USAGE
    assert main(["lab", "draw", str(lab)]) == Exit.USAGE
    Path("empty").mkdir()
    assert main(["grade", str(lab), "empty"]) == Exit.NOTHING


def test_a_lab_is_tried_in_the_app(
    lab: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The app gets the line that a student types; without a terminal that line is shown."""
    assert main(["lab", "try", str(lab), "--student", "s1"]) == 2
    line = f'load "{lab}" student="s1"'
    assert f"needs a terminal; without one: rdmalab repl, and there: {line}" in (
        " ".join(capsys.readouterr().err.split())
    )
    begun: list[str] = []
    monkeypatch.setattr(import_module("rdmalab.cli.program"), "at_terminal", lambda: True)
    monkeypatch.setenv("TERM", "xterm")

    def app(line: str) -> int:
        begun.append(line)
        return 0

    monkeypatch.setattr(launch, "main", app)
    assert main(["lab", "try", str(lab), "--student", "s1"]) == 0
    assert begun == [line]
