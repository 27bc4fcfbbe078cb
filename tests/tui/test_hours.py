"""The first hour of a newcomer and of a lecturer, in a real terminal."""

import csv
import os
import re
import sys
import zipfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rdmalab.classroom import submission
from rdmalab.classroom.exercise import Exercise
from rdmalab.classroom.lab_file import load
from rdmalab.scenario.files import found
from rdmalab.shell.lab_requests import TOUR
from tests.classroom.labs import RECV, TEMPLATE
from tests.classroom.test_grading import DIGEST, handed_in, right
from tests.terminal import Terminal

ROOT = Path(__file__).parents[2]


class Shell:
    """A terminal in which `rdmalab` is started in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        size = {"COLUMNS": "", "LINES": ""}  # pytest-xdist sets them, and they would win
        self.environment = {
            "RDMALAB_STATE": str(folder / "state"), "PYTHONPATH": str(ROOT), **size
        }  # fmt: skip

    def start(self, *arguments: str, size: tuple[int, int] = (120, 40)) -> Terminal:
        command, (columns, rows) = [sys.executable, "-m", "rdmalab", *arguments], size
        return Terminal(command, columns=columns, rows=rows, cwd=self.folder, env=self.environment)

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
        self.terminal.send(b"\x1b")  # a long answer stands on a page
        self.terminal.rest(0.3)
        self.say("quit")
        assert self.terminal.wait_exit() == 0
        assert b"Traceback" not in self.terminal.raw


def test_a_newcomers_hour(shell: Shell) -> None:
    """The tour with a wrong word and a hint, left for a first lab; its submission."""
    with shell.start() as terminal:
        person = Typing(terminal)
        person.say("tuor", "did you mean tour?")
        person.say("tour", "now   1. RESET to INIT")
        person.say("hint", "modify_qp B.qp0 state=INIT")
        first_lab(person)
        person.leave()
    assert "sq-full  s1  1 of 10" in shell.run(
        "grade", "labs/sq-full", "work.yaml", "--student", "s1"
    )


def first_lab(person: Typing) -> None:
    """A wrong answer, a hint, the right answer, and the submission."""
    person.say("load labs/sq-full student=s1", "sq-full  0 of ")
    person.say("answer see EAGAIN", "Post one more and read the line")
    person.say("hint see", "Type: post_send A.qp0")
    person.say("post_send A.qp0 opcode=SEND sg=A.mr0[0:64]", "ENOMEM")
    person.say("answer see ENOMEM", "sq-full  1 of ")
    person.say("submit work.yaml", "work.yaml: hand in this file")


# --------------------------------------------------------------------------- with mistakes
SMALL = (80, 24)
UP = (
    "modify_qp A.qp0 state=INIT pkey_index=0 port_num=1 qp_access_flags=0",
    "modify_qp B.qp0 state=INIT pkey_index=0 port_num=1 qp_access_flags=0",
    "modify_qp A.qp0 state=RTR path_mtu=1024 dest_qp_num=B.qp0 rq_psn=0 max_dest_rd_atomic=1 "
    "min_rnr_timer=12 ah=B",
    "modify_qp B.qp0 state=RTR path_mtu=1024 dest_qp_num=A.qp0 rq_psn={psn} max_dest_rd_atomic=1 "
    "min_rnr_timer=12 ah=A",
    "modify_qp A.qp0 state=RTS timeout=14 retry_cnt=7 rnr_retry=7 sq_psn={psn} max_rd_atomic=1",
    "modify_qp B.qp0 state=RTS timeout=14 retry_cnt=7 rnr_retry=7 sq_psn=0 max_rd_atomic=1",
)
SEND = "post_send A.qp0 opcode=SEND sg=A.mr0[0:{size}] flags=SIGNALED"


def test_a_newcomers_hour_with_mistakes_in_a_small_terminal(shell: Shell) -> None:
    """An endless run in the tour and in a lab, an answer that is wrong, ERR, a lesson in between.

    Nothing that was done right is lost, and nothing is called done that is not.
    """
    solutions = load(found(TOUR), "1").document.solutions
    assert solutions is not None
    lines = solutions.accept[0].lines
    with shell.start(size=SMALL) as terminal:
        tour_with_mistakes(Typing(terminal), lines)
    with shell.start(size=SMALL) as terminal:  # another day
        person = Typing(terminal)
        terminal.wait_for("The tour is kept, 8 of 9 tasks: tour goes on there.")
        person.say("tour", "88 %  ✓✓✓✓✓✓✓✓●  9. Go back and do better")
        person.say_all(lines[lines.index("goto @before") :], "done    9 of 9.")
        params = load(found("labs/by-hand"), "kim").params
        lab_with_an_endless_run(person, params)
        person.say("load err/rnr-retry-exceeded", "lab returns to it.")
        person.say("lab", "✓ up  ✓ hello  ? back")
        person.say("submit kim.yaml", "kim.yaml: hand in this file")
        person.leave()
    graded = shell.run("grade", "labs/by-hand", "kim.yaml", "--student", "kim")
    assert re.search(r"by-hand  kim  8 of 9", graded), graded
    assert "cut" not in graded


def tour_with_mistakes(person: Typing, lines: Sequence[str]) -> None:
    """Eight tasks, with a mistake in most of them; the last one is a run without goto."""
    sent, back = lines.index("checkpoint before"), lines.index("goto @before")
    person.say("tour", "0 %  ●········  1. RESET to INIT")
    person.say(lines[0], "1 of 2 done; left: B.qp0.state == INIT")
    person.say(lines[1], "11 %  ✓●·······  2. A receive for B")
    person.say("post_recv B.qp0", "back undoes a line")
    person.say("back", "11 %  ✓●·······  2. A receive for B")
    person.say_all(lines[2:sent], "7. A message without a receive")
    person.say_all(lines[sent:back], "RNR_NAK")
    person.say("a", "✗ That is not the answer. An ACK")
    # An answer of half the screen may open as a page, which lies over the strip.
    person.say("b", "8. Why has it no completion?")
    person.say("answer rnr-infinite", "9. Go back and do better")
    person.say("run", "goto @before, then")  # and not: goto @before
    assert b"All tasks are done" not in person.terminal.raw
    person.say("goto before", "events back.")
    person.leave()


def lab_with_an_endless_run(person: Typing, params: Mapping[str, str]) -> None:
    """rnr_retry=7 and a SEND without a receive, run to the limit, gone back, and done right."""
    person.say("load labs/by-hand student=kim", "0 %  ● attributes  · up  · hello  ? back")
    person.say("modify_qp A.qp0 state=RTS", "RESET → RTS is not a legal transition")
    for line in UP:
        person.say(line.format_map(params))
    person.say("checkpoint ready", "@ready is")
    person.say(SEND.format_map(params))
    person.say("run", "A.qp0 retries without limit, and only a")
    person.say("run", "stopped: A.qp0 retries without limit")
    person.say("goto @ready", "events back.")
    person.say("post_recv B.qp0 sg=B.mr0[0:64]")
    person.say(SEND.format_map(params))
    person.say("run 1ms", "✓ up  ✓ hello  ? back")


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
        (works / f"s{number}.yaml").write_text(text.replace(f"LAB-ID {DIGEST}", f"x {version}"))
    (shell.folder / "class.csv").write_text("".join(f"s{n}\n" for n in range(31)))
    finished = shell.run(
        "grade", "x.lab.yaml", "downloads", "--out", "marks", "--roster", "class.csv"
    )
    assert "30 of 30 graded" in finished
    assert "\\x0d" not in finished  # the line of progress is drawn again in its place
    assert "nothing handed in: s30" in finished
    table = (shell.folder / "marks/causes.txt").read_text()
    assert re.search(r"deliver: 10 of \d+ failed\n +10  ", table), table


# --------------------------------------------------------------------------- a download of Moodle
STUDENTS = [f"s{number:02}" for number in range(30)]
COURSE = """rdmalab: 1
kind: course
title: RDMA, winter
roster: class.csv
salt: w26
penalty: 50
labs:
  - lab: x.lab.yaml
    works: downloads
    due: "2026-11-20 12:00+00:00"
"""


def folder_of(number: int, kind: str = "file") -> str:
    return f"Ann{number} Lee{number}_{500 + number}_assignsubmission_{kind}_"


def put(path: Path, octets: bytes, day: int = 19) -> None:
    """A file of a download, handed in on a day of November."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(octets)
    at_s = datetime(2026, 11, day, tzinfo=UTC).timestamp()
    os.utime(path, (at_s, at_s))


def download(folder: Path, handout: Path) -> None:
    """30 students: files, pasted words, works of others, late and double ones, a PDF, nothing."""
    for number, student in enumerate(STUDENTS):
        exercise = Exercise(str(handout), STUDENTS[0] if number in (4, 5) else student)
        exercise.do(RECV)
        size = exercise.work.lab.params["size"]
        exercise.do(f"post_send A.qp0 opcode=SEND sg=A.mr0[0:{size}]")
        exercise.answer("answer-of-b", "2")
        word = exercise.submit()
        text = submission.written(submission.loads(word, "w")).encode()
        page = f"<html><body><p>My work: <b>{word}</b></p></body></html>".encode()
        file, online = (folder / folder_of(number, kind) for kind in ("file", "onlinetext"))
        if number == 29:
            continue
        if number == 28:
            put(file / "report.pdf", b"%PDF-1.7")
        elif number == 27:
            put(online / "onlinetext.html", b"<p>I was ill.</p>")
        elif number % 3 == 0:
            put(online / "onlinetext.html", page, day=21 if number in (6, 9) else 19)
        else:
            put(file / "my work.yaml", text, day=22 if number == 7 else 19)
        if number in (10, 11):  # a second one, without the lines
            put(online / "onlinetext.html", worse(word), day=20)


def worse(word: str) -> bytes:
    """The same work without its second line, as a page."""
    work = submission.loads(word, "w")
    less = work.model_copy(update={"lines": work.lines[:1]})
    return f"<p>{submission.word_of(less)}</p>".encode()


def ended(shell: Shell, code: int, *arguments: str) -> str:
    """What a command prints that ends with this code."""
    with shell.start(*arguments) as it:
        found = it.wait_exit()
        it.rest(0.2)
        text = it.raw.decode()
        assert found == code, text
        return " ".join(text.split())


def scores(folder: Path) -> dict[str, str]:
    """The points in the gradebook by student."""
    with (folder / "marks/gradebook.csv").open() as file:
        return {row["student"]: row["x (5)"] for row in csv.DictReader(file)}


def test_a_lecturers_hour_with_a_download_of_moodle(shell: Shell) -> None:
    """A salted lab, 30 works of all kinds, remarks, a second grading, and what goes back."""
    here = shell.folder
    (here / "x.lab.yaml").write_text(TEMPLATE.replace("LAB-ID", "x"))
    shell.run("lab", "publish", "x.lab.yaml", "-o", "handout.lab.yaml", "--salt", "w26")
    download(here / "downloads", here / "handout.lab.yaml")
    rows = [f"Ann{n} Lee{n},{each},{each}@uni.edu" for n, each in enumerate(STUDENTS)]
    (here / "class.csv").write_text("\n".join(["Full name,ID number,Email address", *rows]))
    (here / "course.yaml").write_text(COURSE.replace("roster", "rooster"))
    assert 'no key "rooster" here' in ended(shell, 2, "course", "grade")
    (here / "course.yaml").write_text(COURSE)

    answer = ended(shell, 1, "course", "grade")
    assert "report.pdf: a PDF; ask for the file that submit writes" in answer
    assert answer.count("the work names s00, and was handed in by s0") == 2
    assert "unreadable: " in answer
    table = shell.run("course", "status")
    assert re.search(r"x +2026-11-20 12:00 +29 of 30 +25 +3 +2 +2 +0 +0", table), table
    assert "nothing handed in: s29" in " ".join(table.split())
    found = scores(here)
    for student in ("s00", "s01", "s08", "s26"):
        assert found[student] == "5"
    assert [found[each] for each in ("s06", "s07", "s10", "s11")] == ["2.5", "0", "1", "1"]
    assert [found[each] for each in ("s04", "s05", "s27", "s28", "s29")] == [""] * 5

    second_grading(shell)


def second_grading(shell: Shell) -> None:
    """Points by hand, the best work counts; feedback for Moodle and Gradescope."""
    here = shell.folder
    shell.run("course", "mark", "s27", "x", "--points", "2.5", "--remark", "Ill; shown later.")
    course = (here / "course.yaml").read_text()
    (here / "course.yaml").write_text(course.replace("penalty: 50", "penalty: 50\nkeep: best"))
    ended(shell, 1, "course", "grade")
    assert (scores(here)["s27"], scores(here)["s10"]) == ("2.5", "5")
    with zipfile.ZipFile(here / "marks/x/moodle-feedback.zip") as archive:
        pages = {name: archive.read(name).decode() for name in archive.namelist()}
    assert len(pages) == 29
    assert "Ill; shown later." in pages[f"{folder_of(27, 'onlinetext')}/x.html"]
    assert "handed in by s04" in pages[f"{folder_of(4)}/x.html"]
    assert "ID number,Grade,Feedback" in (here / "marks/x/moodle.csv").read_text()
    assert len(list((here / "marks/x/gradescope").iterdir())) == 29
