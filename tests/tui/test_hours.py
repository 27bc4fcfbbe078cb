"""The first hour of a newcomer and of a lecturer, in a real terminal."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from rdmalab.classroom.lab_file import load
from rdmalab.scenario.files import found
from rdmalab.shell import tour
from rdmalab.vocabulary import VOCABULARY
from tests.classroom.test_grading import DIGEST, handed_in, right
from tests.terminal import Terminal

ROOT = Path(__file__).parents[2]
ANSWERS = (
    "answer no-receive 1",
    "answer no-receive 2",
    "why A.qp0.wr[2]",
    "answer cause rnr-infinite",
)


class Shell:
    """A terminal in which `rdmalab` is started in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        size = {"COLUMNS": "", "LINES": ""}  # pytest-xdist sets them, and they would win
        self.environment = {
            "RDMALAB_STATE": str(folder / "state"), "PYTHONPATH": str(ROOT), **size
        }  # fmt: skip

    def start(self, *arguments: str) -> Terminal:
        command = [sys.executable, "-m", "rdmalab", *arguments]
        return Terminal(command, columns=120, rows=40, cwd=self.folder, env=self.environment)

    def run(self, *arguments: str) -> str:
        """What a command prints that ends well."""
        with self.start(*arguments) as it:
            code = it.wait_exit()
            it.rest(0.2)
            text = it.raw.decode()
            assert code == 0, text
            return text


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


class Typing:
    """A person at the prompt of the app."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        terminal.wait_for("A>")

    def say(self, line: str, *wanted: str) -> None:
        """Type a line, and wait until the screen shows all that is wanted."""
        self.terminal.send(line.encode() + b"\r")
        for text in wanted:
            self.terminal.wait_for(text)
        self.terminal.rest(0.15)

    def say_all(self, lines: Sequence[str], wanted: str) -> None:
        for line in lines:
            self.say(line)
        self.terminal.wait_for(wanted)

    def leave(self) -> None:
        self.say("quit")
        assert self.terminal.wait_exit() == 0
        assert b"Traceback" not in self.terminal.raw


def test_a_newcomers_hour(shell: Shell) -> None:
    """The tour with wrong words and a wrong answer, left once; a first lab; its submission."""
    solutions = load(found(tour.NAME), VOCABULARY, "1").document.solutions
    assert solutions is not None
    lines = solutions.accept[0].lines
    sent, back = lines.index("run") + 1, lines.index("goto @before")
    with shell.start() as terminal:
        person = Typing(terminal)
        person.say("tuor", "did you mean tour?")
        person.say("tour", "now   1. RESET to INIT")
        person.say("hint", "modify_qp B.qp0 state=INIT")
        person.say_all(lines[:sent], "now   6. A message without a receive")
        person.leave()
    with shell.start() as terminal:  # another day
        person = Typing(terminal)
        person.say("tour", "now   6. A message without a receive")
        person.say_all(lines[sent:back], "RNR_NAK")
        person.say("answer no-receive 1", "An ACK came for the first message.")
        person.say("answer no-receive 2", "now   7. Why has it no completion?")
        person.say("why A.qp0.wr[2]", "rnr-infinite")
        person.say("answer cause rnr-infinite", "now   8. Back, and better")
        person.say_all(lines[back:], "All tasks are done.")
        first_lab(person)
        person.leave()
    assert "sq-full  s1  1 of 10" in shell.run("grade", "labs/sq-full", "work.yaml")


def first_lab(person: Typing) -> None:
    """A wrong answer, a hint, the right answer, and the submission."""
    person.say("load labs/sq-full student=s1", "sq-full 0 of ")
    person.say("answer see EAGAIN", "Post one more and read the line")
    person.say("hint see", "Type: post_send A.qp0")
    person.say("post_send A.qp0 opcode=SEND sg=A.mr0[0:64]", "ENOMEM")
    person.say("answer see ENOMEM", "sq-full 1 of ")
    person.say("submit work.yaml", "work.yaml: hand in this file")


def test_a_lecturers_hour(shell: Shell) -> None:
    """A lab from `lab new`, tried, checked and published; 30 submissions graded; the table."""
    assert "edit it" in shell.run("lab", "new", "x")
    assert ", 0 not as declared" in shell.run("lab", "check", "x.lab.yaml", "--students", "2")
    version = shell.run("lab", "publish", "x.lab.yaml", "-o", "handout.lab.yaml").split()[-1]
    assert "solutions:" not in (shell.folder / "handout.lab.yaml").read_text()
    with shell.start("lab", "try", "x.lab.yaml", "--student", "s1") as terminal:
        terminal.wait_for("0 of 4 points")
        Typing(terminal).say("quit")
        assert terminal.wait_exit() == 0
    works = shell.folder / "downloads"
    works.mkdir()
    lab = (shell.folder / "x.lab.yaml").read_text()
    for number in range(30):
        text = right(f"s{number}", lab) if number % 3 else handed_in(f"s{number}", "run 1us")
        (works / f"{number}.yaml").write_text(text.replace(f"LAB-ID {DIGEST}", f"x {version}"))
    (shell.folder / "class.csv").write_text("".join(f"s{n}\n" for n in range(31)))
    said = shell.run("grade", "x.lab.yaml", "downloads", "--out", "marks", "--roster", "class.csv")
    assert "30 of 30 graded" in said
    assert "\\x0d" not in said  # the line of progress is drawn again in its place
    assert "nothing handed in: s30" in said
    table = (shell.folder / "marks/causes.txt").read_text()
    assert re.search(r"deliver: 10 failed\n +10  ", table), table
