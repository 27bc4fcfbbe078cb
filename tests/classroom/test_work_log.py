"""The log of a submission: what it says, and that editing it by hand is noticed."""

import pytest

from rdmalab.classroom.work_log import WorkLog, hints_of, record, tries_of


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
    assert found.state == "intact"
    assert record([]).state == "missing"
    assert record([], lines=1).state == "missing"


def test_a_log_that_has_not_seen_a_line_is_edited() -> None:
    log = written("line 1 event 3", "line 2 event 4", "submit 4")
    assert record(log, lines=2).state == "intact"
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
        assert (record(other).state == "intact") is (
            other == log[:2]
        )  # an end that is cut off is not seen
    other = [*log[:entry], log[entry].replace("s ", "9s "), *log[entry + 1 :]]
    assert record(other).state == "edited"


def test_a_continued_log_goes_on_in_time_and_in_its_chain() -> None:
    log = WorkLog(written("line 1 event 3", "line 2 event 4"), clock=lambda: 50.0)
    log.add("submit 1")
    assert log.entries[-1].startswith("2.0s submit 1 ")
    assert record(log.entries).state == "intact"
