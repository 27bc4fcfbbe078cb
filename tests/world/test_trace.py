"""The trace: the one door through which anything is logged."""

import pytest

from rdmalab.spec.records import A, Kind
from rdmalab.world.trace import Trace
from tests.bench.silence import Silence


def test_a_record_says_when_who_what_and_why() -> None:
    trace = Trace()
    assert trace.latest == -1
    trace.event, trace.at_ns, trace.cause = 4, 700, 2
    trace.record(Kind.CREATED, "A", 1, "pd")
    assert trace.latest == 0
    assert list(trace.records) == [(4, 700, 2, Kind.CREATED, "A", 1, "pd", None)]


def test_silence_keeps_the_time_and_nothing_else() -> None:
    trace = Silence()
    trace.at_ns = 5
    trace.record(Kind.CREATED, "A", 1, "pd")
    assert list(trace.records) == []
    assert trace.at_ns == 5


def test_the_newest_come_first_with_their_numbers_and_as_far_as_the_reach() -> None:
    trace = Trace()
    for number in range(5):
        trace.record(Kind.CALLED, "A", 0, str(number))
    found = [(number, record[A]) for number, record in trace.records.newest()]
    assert found == [(4, "4"), (3, "3"), (2, "2"), (1, "1"), (0, "0")]
    trace.reach = 2
    assert [number for number, _ in trace.records.newest()] == [4, 3]


def test_records_beyond_the_reach_are_not_recalled() -> None:
    trace = Trace()
    for number in range(9):
        trace.record(Kind.CALLED, "A", 0, str(number))
    trace.forget(6)
    trace.reach = 3
    assert [number for number, _ in trace.records.newest()] == [8, 7, 6]


def test_rare_records_are_found_as_far_back_as_the_reach() -> None:
    trace = Trace()
    trace.record(Kind.CREATED, "A", 0, "old")
    for number in range(5):
        trace.record(Kind.CALLED, "A", 0, str(number))
    trace.record(Kind.CREATED, "A", 1, "new")
    assert [number for number, _ in trace.records.of_kind(Kind.CREATED)] == [6, 0]
    trace.reach = 6
    assert [number for number, _ in trace.records.of_kind(Kind.CREATED)] == [6]


def test_what_was_written_since_a_number_is_read_from_the_tail_or_recalled() -> None:
    trace = Trace()
    for number in range(5):
        trace.record(Kind.CALLED, "A", 0, str(number))
    assert [record[A] for record in trace.since(3)] == ["3", "4"]
    assert trace.since(5) == []
    trace.forget(4)
    assert [record[A] for record in trace.since(4)] == ["4"]
    with pytest.raises(LookupError):
        trace.since(3)
