"""The hour of a cheat in a real terminal: at the prompt, in the file, at the grader."""

import re
from pathlib import Path

import yaml

from rdmalab.classroom import submission
from rdmalab.classroom.exercise import Exercise
from tests.classroom.labs import FOLDER
from tests.tui.test_hours import Shell, Typing, shell

__all__ = ["shell"]

LAB = str(FOLDER / "sq-full.lab.yaml")
SEND = "post_send A.qp0 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED"
REFUSED = (
    ("apply", "apply is not allowed in this lab"),
    ("use rc_pair", "use is not allowed in this lab"),
    ("fault clear", "fault is not allowed in this lab"),
    ("modify_qp B.qp0 state=RESET", "B.qp0 is locked in this lab"),
    ("program B.p lines={ loop 9; poll_cq B.cq0; end }", "B.p is locked in this lab"),
    ("program A.p lines={ fault clear }", "fault is not allowed in this lab"),
    ('write A.mr0[0:5] "hello"', "write is not allowed in this lab"),
    ("goto 1; alloc_pd A.pd9", "the setup of this lab cannot be changed"),
)
"""What a cheat types first, and what it is answered."""
TYPED = (
    "modify_qp A.qp0 state=RESET",
    "to_rts A.qp0 B.qp0 psn=77",
    SEND,
    "run 2s",
    "poll_cq A.cq0",
)


def test_a_cheats_hour(shell: Shell) -> None:
    """Eve solves nothing: she gets what an honest guess gets, and harms nobody else."""
    handout = Path(shell.folder / "handout.lab.yaml")
    shell.run("lab", "publish", LAB, "--live", "-o", str(handout))
    text = handout.read_text()
    assert not any(each in text for each in ("solutions:", "right: true", "instructor:"))
    with shell.start() as terminal:
        at_the_prompt(Typing(terminal))
    work = yaml.safe_load((shell.folder / "eve.yaml").read_text())
    assert work["answers"] == {"explain": "2"}
    assert points(shell, work) == 0
    assert points(shell, {**work, "score": 10, "of": 10, "verdict": "graded"}) == 0
    assert points(shell, {**work, "hints": [], "log": []}) == 0
    assert points(shell, {**work, "params": {"size": "64", "depth": "4"}, "salt": "x"}) in (None, 0)
    for foreign in ("victim", "../victim", "=HYPERLINK(1)"):
        assert points(shell, {**work, "student": foreign}) is None
    assert points(shell, {**friends_work(), "student": "eve"}) == 0


def at_the_prompt(person: Typing) -> None:
    """Each refusal is one line that names what is not allowed; the choice takes one answer."""
    person.say("load labs/sq-full student=eve", "sq-full  0 of 7 points")
    for line, answer in REFUSED:
        person.say(line, answer)
        person.say("goto end")
    person.say_all(TYPED, "A.qp0 is in ERR")
    person.say("answer explain 2", "explain")
    person.say("answer explain 1", "takes 1 answer, which is given")
    person.say("answer explain 3", "takes 1 answer, which is given")
    person.say("hint deliver", "deliver")
    person.say("submit eve.yaml", "eve.yaml: hand in this file")
    person.leave()


def points(shell: Shell, work: dict[str, object]) -> float | None:
    """What the grader gives eve for this file; None: it is not taken as hers."""
    (shell.folder / "w.yaml").write_text(yaml.safe_dump(work, sort_keys=False))
    with shell.start("grade", LAB, "w.yaml", "--student", "eve") as it:
        code = it.wait_exit()
        it.rest(0.2)
        text = it.raw.decode()
    assert "Traceback" not in text
    found = re.search(r"sq-full  eve  ([\d.]+) of 10", text)
    assert (code == 0) is (found is not None), text
    return float(found[1]) if found else None


def friends_work() -> dict[str, object]:
    """The work of a student who has all points, also the choice."""
    friend = Exercise(LAB, "friend")
    solutions = friend.work.lab.document.solutions
    assert solutions is not None
    for line in solutions.accept[0].lines:
        friend.do(line)
    return dict(yaml.safe_load(submission.written(submission.loads(friend.submit(), "w"))))
