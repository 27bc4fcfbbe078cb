"""The log of a submission: what it says, and that editing it by hand is noticed."""

import pytest

from rdmalab.classroom.instructor_model import Submission
from rdmalab.classroom.submission import loads
from rdmalab.classroom.submission import written as as_text
from rdmalab.classroom.work_log import WorkLog, differences, hints_of, record, sealed, tries_of
from tests.each import each


def written(*whats: str) -> list[str]:
    """A log with an entry each second."""
    now = iter(range(100))
    log = WorkLog(clock=lambda: float(next(now)))
    for what in whats:
        log.add(what)
    return log.entries


def test_a_log_says_how_long_and_how_often() -> None:
    found = record(written("line 1 event 3", "why event 3", "why event 3", "submit 4"))
    assert (found.entries, found.seconds, found.asked_why, found.submitted) == (4, 4.0, 2, 1)
    assert found.state == "unchecked"
    assert record([]).state == "missing"
    assert record([], lines=1).state == "missing"


def test_a_log_that_has_not_seen_a_line_is_edited() -> None:
    log = written("line 1 event 3", "line 2 event 4", "submit 4")
    assert record(log, lines=2).state == "unchecked"
    assert record(log[:1], lines=2).state == record(["x"]).state == "edited"


def test_a_log_shows_hints_and_tries() -> None:
    log = written("hint fix.1", "answer c 2", "answer c 2", "answer d 1", "answer c 3", "answer e")
    assert hints_of(log) == ["fix.1"]
    assert tries_of(log, "c") == ["2", "3"]
    assert tries_of(log, "e") == []


@pytest.mark.parametrize("entry", [0, 1, 2])
def test_an_edited_entry_is_noticed(entry: int) -> None:
    log = written("line 1 event 3", "why event 3", "submit 4")
    for other in (log[:entry] + log[entry + 1 :], [*log[:entry], "x", *log[entry + 1 :]]):
        assert (record(other).state == "unchecked") is (
            other == log[:2]
        )  # an end that is cut off is not seen
    other = [*log[:entry], log[entry].replace("s ", "9s "), *log[entry + 1 :]]
    assert record(other).state == "edited"


def test_a_continued_log_goes_on_in_time_and_in_its_chain() -> None:
    log = WorkLog(written("line 1 event 3", "line 2 event 4"), clock=lambda: 50.0)
    log.add("submit 1")
    assert log.entries[-1].startswith("2.0s submit 1 ")
    assert record(log.entries).state == "unchecked"


LINES = ["post_recv B.qp0", "run 5us", "poll_cq B.cq0"]


def work() -> Submission:
    """A work with the log and the check digits that this version writes."""
    log = WorkLog(clock=lambda: 1.0, student="s001")
    for number in range(1, 4):
        log.add(f"line {number} event {number}")
    found = Submission(
        rdmalab=1, kind="submission", lab="x 1", student="s001", lines=LINES,
        answers={"c": "2", "why": " It was\tfull.\n"}, log=log.entries,
    )  # fmt: skip
    return sealed(found)


@each(
    "old, new, found",
    [
        ("", "", []),
        ("student: s001", "student: s005", ["the log is that of s001"]),
        ("- run 5us", "- run 9us", ["line 2 is not the line that was logged"]),
        ("- run 5us\n", "", ["line 2 is not the line that was logged"]),
        ("- poll_cq B.cq0\n", "- poll_cq B.cq0\n- run 1us\n",
         ["line 4 is not the line that was logged"]),
        ("c: '2'", "c: '3'", ["the answer to c is not the one that was logged"]),
        ("  c: '2'\n", "", ["answers were added or removed"]),
        ("check: ", "was: ",
         ["the check digits are missing, which only older versions do not write"]),
        ("check: ", "check: x/y/z/", ["the check digits were changed"]),
    ],
)  # fmt: skip
def test_a_change_in_a_text_editor_is_named(old: str, new: str, found: list[str]) -> None:
    text = as_text(work())
    assert old in text
    assert differences(loads(text.replace(old, new), "w")) == found


def test_many_changed_lines_are_counted() -> None:
    lines = [f"run {n}us" for n in range(5)]
    whole = sealed(work().model_copy(update={"lines": lines}))
    assert differences(whole.model_copy(update={"lines": ["step"] * 5}))[3:] == ["and 2 more lines"]


def test_a_log_that_was_cut_off_at_its_end_is_not_that_of_the_work() -> None:
    shorter = work().model_copy(update={"log": work().log[:-1]})
    assert differences(shorter) == ["the log is not the one with which the work was written"]


def test_a_work_of_an_older_version_is_not_checked_and_counts() -> None:
    old = work().model_copy(update={"log": written("line 1 event 1", "line 3 event 3")})
    assert sealed(old).check is None
    assert differences(old) == []
    assert record(old.log, 3).state == "unchecked"
