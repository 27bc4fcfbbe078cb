"""Submissions: a file or a word; what they claim is ignored, what is damaged is unreadable."""

import json

import pytest

from rdmalab.classroom import submission
from rdmalab.classroom.grading import Item, grade_submission
from rdmalab.classroom.instructor_model import Submission
from rdmalab.classroom.lab_session import LabSession
from rdmalab.classroom.owner import given
from rdmalab.classroom.playing import play
from rdmalab.classroom.public import digest
from rdmalab.scenario.source import FileError
from tests.classroom.labs import RECV, SEND, TEMPLATE, loaded, logged, text_of
from tests.each import chance_of, drawn_numbers, each
from tests.shell.prompts import Prompt

SIZE = loaded(TEMPLATE, "s1").params["size"]
LINES = [RECV, f"post_send A.qp0 opcode=SEND sg=A.mr0[0:{SIZE}]"]
WORK = logged(Submission(
    rdmalab=1, kind="submission", lab=f"LAB-ID {digest(loaded(TEMPLATE))}", student="s1",
    lines=LINES, answers={"answer-of-b": "2"},
))  # fmt: skip
TEXT = submission.written(WORK)


def graded(text: str) -> tuple[str, float]:
    found = grade_submission(Item(TEMPLATE, "x.lab.yaml", text, "w.yaml", given("s1")))
    return found.verdict, found.score


def test_a_file_and_a_word_say_the_same() -> None:
    word = submission.word_of(WORK)
    assert word.startswith("rdmalab-work:1:")
    assert len(word) < 400
    assert submission.loads(TEXT, "w") == submission.loads(f"  {word}\n", "w") == WORK
    assert graded(TEXT) == graded(word) == ("graded", 5)


@each(
    "old, new",
    [
        ("student: s1", "student: s1\nscore: 10\nresults: [{passed: true}]\nparams: {size: 1}"),
        ("student: s1", "student: s1\nverdict: graded\nof: 0\nhidden: true"),
    ],
)
def test_a_claim_changes_nothing(old: str, new: str) -> None:
    assert graded(TEXT.replace(old, new)) == ("graded", 5)
    worse = TEXT.replace(LINES[0], "run 1us").replace(old, new)
    assert graded(worse) == ("graded", 1)


def test_the_work_of_another_student_does_not_fit() -> None:
    others = [f"s{n}" for n in range(30) if loaded(TEMPLATE, f"s{n}").params["size"] != SIZE]
    assert graded(TEXT.replace("student: s1", f"student: {others[0]}"))[1] < 5


@each(
    "text",
    [
        "", "17", "lines: 17", "[]", "rdmalab-work:1:AAAA", "rdmalab-work:9:AAAA", "rdmalab:2:AAAA",
        "rdmalab-work:", "\x00", "rdmalab: 1\nkind: submission\n", TEXT.replace("LAB-ID", "other"),
        TEXT.replace(digest(loaded(TEMPLATE)), "000000000000"), TEXT.replace("s1", "../../etc"),
        TEXT + "lines: [x]\n", TEXT.replace("lines:", "lines: &a"), "a: " * 5_000, "[" * 5_000,
        TEXT.split("lines:")[0] + f"lines: {json.dumps(['x'] * 10_001)}",
    ],
)  # fmt: skip
def test_what_is_no_submission_of_this_lab_is_unreadable(text: str) -> None:
    assert graded(text) == ("unreadable", 0)


def test_a_damaged_text_never_passes_and_never_fails_rdmalab() -> None:
    """Mutants of a right submission that lacks its last line, so that none can be right.

    100 of 2,000 in a run.
    """
    base = submission.written(WORK.model_copy(update={"lines": LINES[:1]}))
    for number in drawn_numbers("submission", 100, 2_000):
        dice, letters = chance_of("submission", number), list(base)
        for _ in range(dice.randint(1, 4)):
            at = dice.randrange(len(letters))
            letters[at : at + dice.randint(0, 3)] = dice.choice("\x00\n:{}[]-'\"%$ &*é0aZ")
        verdict, score = graded("".join(letters))
        assert verdict in ("graded", "unreadable", "cut", "foreign"), number
        assert score < 5, number


def test_an_error_names_its_place() -> None:
    with pytest.raises(FileError, match=r"w:3:1: kind is missing|w:1:1: "):
        submission.loads("rdmalab: 1\nlab: x\n", "w")


TASKS = "  - {id: a, points: 1, goal: [B.cq0.total(status=SUCCESS) == 1]}\n"
LIMITS = "rules: {limits: {lines: 5, events: 300, time: 1ms}}\n"
FEW_EVENTS = "rules: {limits: {events: 300}}\n"


def opened(*lines: str, more: str = "") -> tuple[Prompt, LabSession]:
    """A lab with a connected pair, after these lines."""
    prompt = Prompt(width=200)
    lab = LabSession(text_of(TASKS, more), "x", "s1")
    prompt.conversation.start_over(lab.session)
    prompt.conversation.exercise = lab
    prompt.ask(*lines)
    return prompt, lab


@pytest.mark.parametrize(
    ("lines", "left"),
    [
        ([RECV, SEND, "run"], [RECV, SEND, "run"]),
        ([RECV, "show A.qp0", SEND, "why"], [RECV, SEND]),
        (["modify_qp A.qp0 state=ERR", "back 1", RECV], [RECV]),
        (["checkpoint here", SEND, "run 1ms", "goto @here", RECV], ["checkpoint here", RECV]),
        ([RECV, "checkpoint here", SEND, "goto @here"], [RECV, "checkpoint here"]),
        ([RECV, SEND, "back 1", "goto end"], [RECV, SEND]),
        ([RECV, "step", SEND, *["step"] * 3], [RECV, "step", SEND, "step 3"]),
        ([SEND, "step 2", "step", "step packet", "step"], [SEND, "step 3", "step packet", "step"]),
        ([f"{RECV}; {SEND}; run 1us"], [f"{RECV}; {SEND}; run 1us"]),
        ([f"{RECV}; {SEND}", "back 1", "run"], [f"{RECV}; {SEND}"]),  # over known time again
        (["node B", RECV, "back 1"], ["node B"]),
        ([f"{RECV}; post_send A.qp9 opcode=SEND"], [RECV]),  # the part that ran counts
    ],
)
def test_undone_lines_are_left_out(lines: list[str], left: list[str]) -> None:
    assert opened(*lines)[1].lines == left


def test_a_run_that_was_left_in_its_middle_is_handed_in_up_to_there() -> None:
    _, lab = opened(RECV, SEND, "run 5us", "goto 2us", RECV)
    first, second, run, third = lab.lines
    assert (first, second, third) == (RECV, SEND, RECV)
    played = play(loaded(text_of(TASKS, "rules: {settle: run 1ns}\n")), [first, second, run])
    assert played.session.history.here.at_ns == 2_001
    calls = lab.session.journal
    assert calls[len(calls) - 1].at_ns == 2_000


def test_every_line_stays_for_another_day() -> None:
    _, lab = opened("modify_qp A.qp0 state=ERR", "back 1", RECV)
    assert lab.kept.lines == ["modify_qp A.qp0 state=ERR", "back 1", RECV]
    assert lab.so_far().lines == [RECV]


def test_a_run_ends_at_the_limit_of_the_lab_and_says_so_at_once() -> None:
    """What was undone then costs nothing: the way back is told, and taken."""
    prompt, lab = opened("checkpoint ready", SEND, more=FEW_EVENTS)
    text = " ".join(prompt.ask("run 10s"))
    assert "stopped at the limit of this lab: 300 events after the setup" in text
    assert lab.session.world.event == lab.played.start.event + 300
    refused = " ".join(prompt.ask(RECV))
    assert "this lab allows 300 events, and all are used; back and goto undo lines" in refused
    prompt.ask("goto @ready", RECV, SEND, "run 100us")
    assert lab.lines == ["checkpoint ready", RECV, SEND, "run 100us"]
    assert [each.passed for each in lab.grade().results] == [True]


def test_a_run_ends_at_the_time_of_the_lab() -> None:
    prompt, lab = opened(RECV, more=LIMITS)
    assert "stopped at the limit of this lab: 1 ms of virtual time" in " ".join(
        prompt.ask("run 2s")
    )
    assert lab.lines == [RECV, "run 1ms"]
    assert "this lab allows 1 ms of virtual time" in " ".join(prompt.ask("step"))
    assert lab.grade().verdict == "graded"


def test_more_lines_than_the_lab_allows_are_refused_until_some_are_undone() -> None:
    prompt, lab = opened(*[RECV] * 5, *["show A.qp0"] * 3, more=LIMITS)
    assert "this lab allows 5 lines, and all are used" in " ".join(prompt.ask(SEND))
    prompt.ask("back 2", SEND, *["step"] * 30)
    assert lab.lines == [*[RECV] * 3, SEND, f"step {30}"]
    assert lab.grade().verdict == "graded"


def test_a_short_name_is_handed_in_as_the_object_that_it_named() -> None:
    prompt, lab = opened()
    lab.session.default_node = "A"  # as the prompt of the app has it
    prompt.ask("post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]", "post_send qp0 opcode=SEND sg=mr0[0:8]")
    assert lab.lines[1] == "post_send A.qp0 opcode=SEND sg=A.mr0[0:8]"
    played = play(loaded(text_of(TASKS)), lab.lines)
    assert played.fouls == []
    assert played.session.world.event >= lab.session.world.event


def test_the_line_that_ends_the_last_task_says_how_to_hand_in() -> None:
    prompt, _ = opened(RECV, SEND)
    assert "All tasks are done: submit hands in the work." in prompt.ask("run")
    assert "submit" not in "\n".join(prompt.ask("run 1us"))
