"""A lab that is open at a prompt: its live goals. The words are in shell/test_lab_requests.py."""

import pytest

from rdmalab.classroom import submission
from rdmalab.classroom.answers import WrongTask
from rdmalab.classroom.grading import Item, grade_submission
from rdmalab.classroom.lab_session import LabSession
from rdmalab.classroom.owner import given
from rdmalab.classroom.public import published
from rdmalab.session.lines import replies
from tests.classroom.labs import RECV, SEND, loaded, text_of


def test_a_goal_is_live_where_a_task_has_this_world_only() -> None:
    """A public task may fix a value that a hidden one varies; then its goals are asked as usual."""
    tasks = (
        "  - {id: a, points: 1, vary: {far: [1us]}, goal: [A.cq0.count == 1]}\n"
        "  - {id: b, points: 1, vary: {far: [1us, 2us]}, goal: [A.cq0.count == 1]}\n"
    )
    text = text_of(tasks).replace("- use rc_pair", '- use rc_pair\n  - "link latency=%{far}"')
    lab = LabSession(text, "x", "s1")
    assert lab.turned(lab.session) == []
    for line in (RECV, SEND, "run 1ms"):
        for reply in replies(lab.session, line):
            if reply.travel is not None:
                reply.travel.finish()
    assert lab.turned(lab.session) == [("a: A.cq0.count == 1", True)]


CHOICE = (
    "  - id: c\n    points: 2\n    tries: 2\n"
    "    choice: [{text: x, when_wrong: not x}, {text: y}, {text: z, right: true}]\n"
)


def answered(text: str, *answers: str) -> LabSession:
    lab = LabSession(text, "x", "s1")
    for each in answers:
        lab.answer("c", each)
    lab.grade()
    return lab


def marked(lab: LabSession, change: str = "") -> tuple[float, str]:
    """The score and what is wrong, by the file of the instructor; without the log, if so wanted."""
    work = lab.submission()
    if change == "no log":
        work = work.model_copy(update={"log": []})
    elif change == "edited":
        work = work.model_copy(update={"log": [e for e in work.log if "answer c 1" not in e]})
    grade = grade_submission(
        Item(text_of(CHOICE), "x", submission.written(work), "w.yaml", given("s1"))
    )
    return grade.score, "".join(grade.results[0].wrong)


def test_a_choice_with_tries_ends_after_them_at_the_student_and_at_the_grader() -> None:
    live = published(loaded(text_of(CHOICE)), live=True)
    for text in (text_of(CHOICE), live):
        assert marked(answered(text, "c")) == (2, "")
        assert marked(answered(text, "1", "1", "3")) == (2, "")
        lab = answered(text, "1", "2")
        assert lab.latest.results[0].passed is False
        with pytest.raises(WrongTask, match="c takes 2 answers, which are given"):
            lab.answer("c", "3")
        assert marked(lab) == (0, "answered b) y")
        lab.answers["c"] = "3"  # as a reader of the source would edit the file
        assert marked(lab) == (0, "the log has no such try")
        lab.log.add("answer c 3")  # as a version without the limit would have written it
        assert marked(lab) == (0, "it came after 2 wrong tries")


def test_without_its_log_no_try_counts() -> None:
    lab = answered(text_of(CHOICE), "1", "3")
    assert marked(lab, "no log") == (0, "the log that holds the tries is missing")
    assert marked(lab, "edited") == (0, "the log that holds the tries is edited")


def test_an_answer_that_is_only_noted_is_no_try() -> None:
    """With the handout of `publish` a student may change an answer until it is handed in."""
    lab = answered(published(loaded(text_of(CHOICE))), "1", "2", "3")
    assert marked(lab) == (2, "")
    lab.answer("c", "1")
    assert marked(lab) == (0, "answered a) x")


def test_a_task_that_the_grader_judges_is_done_when_it_is_answered() -> None:
    lab = LabSession(published(loaded(text_of(CHOICE))), "x", "s1")
    assert lab.open_task is not None
    lab.answer("c", "1")
    lab.grade()
    assert lab.is_done
    assert [lab.open_task] == [None]


def edited(old: str, new: str) -> str:
    """A submission in which this was replaced in a text editor."""
    text = submission.written(answered(text_of(CHOICE), "3").submission())
    assert old in text
    return text.replace(old, new)


def test_a_work_that_was_edited_is_named_and_its_tries_do_not_count() -> None:
    for old, new, why in (
        ("c: '3'", "c: '1'", "the answer to c is not the one that was logged"),
        ("student: s1", "student: s5", "the log is that of s1"),
    ):
        text = edited(old, new)
        owner = given(submission.loads(text, "w").student)
        grade = grade_submission(Item(text_of(CHOICE), "x", text, "w.yaml", owner))
        assert (grade.score, grade.log, grade.edits) == (0, "edited", why)
    whole = Item(text_of(CHOICE), "x", edited("c", "c"), "w.yaml", given("s1"))
    assert (grade_submission(whole).score, grade_submission(whole).log) == (2, "intact")


def test_an_edited_work_that_goes_on_stays_edited() -> None:
    text = edited("c: '3'", "c: '1'")
    lab = LabSession.begun(text_of(CHOICE), "x", "", text, "w.yaml")
    again = submission.written(lab.submission())
    grade = grade_submission(Item(text_of(CHOICE), "x", again, "w.yaml", given("s1")))
    assert (grade.log, grade.edits) == ("edited", "the answer to c is not the one that was logged")
