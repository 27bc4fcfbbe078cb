"""The trace: the one door through which anything is logged."""

from rdmalab.spec.records import Kind
from rdmalab.world.trace import Silence, Trace


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
