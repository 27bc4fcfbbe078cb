"""The log of a submission: what it says, and that editing it by hand is noticed."""

import pytest

from rdmalab.classroom.work_log import WorkLog, record


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
    assert found.is_intact
    assert record([]).is_intact


@pytest.mark.parametrize("entry", [0, 1, 2])
def test_an_edited_entry_is_noticed(entry: int) -> None:
    log = written("line 1 event 3", "why event 3", "submit 4")
    for other in (log[:entry] + log[entry + 1 :], [*log[:entry], "x", *log[entry + 1 :]]):
        assert record(other).is_intact is (other == log[:2])  # an end that is cut off is not seen
    assert not record([*log[:entry], log[entry].replace("s ", "9s "), *log[entry + 1 :]]).is_intact


def test_a_continued_log_goes_on_in_time_and_in_its_chain() -> None:
    log = WorkLog(written("line 1 event 3", "line 2 event 4"), clock=lambda: 50.0)
    log.add("submit 1")
    assert log.entries[-1].startswith("2.0s submit 1 ")
    assert record(log.entries).is_intact
