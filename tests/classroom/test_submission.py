"""Submissions: a file or a word; what they claim is ignored, what is damaged is unreadable."""

import json

import pytest

from rdmalab.classroom import submission
from rdmalab.classroom.grading import Item, grade_submission
from rdmalab.classroom.instructor_model import Submission
from rdmalab.classroom.owner import given
from rdmalab.classroom.public import digest
from rdmalab.scenario.source import FileError
from tests.classroom.labs import RECV, TEMPLATE, loaded, logged
from tests.each import chance_of, drawn_numbers, each

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
