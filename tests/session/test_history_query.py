"""A question asked after every event there was."""

from rdmalab.lab import Lab
from rdmalab.session.breakpoints import UNKNOWN
from rdmalab.session.history_query import HistoryQuery
from rdmalab.spec.states import QPState
from tests.labs import BUSY, everything, lab_of, setting_out, trip


def survey(lab: Lab, question: str) -> HistoryQuery:
    travel = trip(lab, f"trace {question}")
    assert isinstance(travel, HistoryQuery)
    return travel


def test_the_answer_whenever_it_changed() -> None:
    lab = lab_of(*BUSY, "run")
    before = everything(lab)
    found = survey(lab, "A.qp0.state")
    assert [r.value for r in found.readings] == [
        UNKNOWN, QPState.RESET, QPState.INIT, QPState.RTR, QPState.RTS,
    ]  # fmt: skip
    assert [r.event for r in found.readings] == [-1, 3, 8, 10, 12]
    assert everything(lab) == before
    assert (found.over, found.met, found.events) == ("there", True, 0)


def test_each_reading_is_what_is_answered_there() -> None:
    lab = lab_of(*BUSY, "run")
    readings = survey(lab, "A.qp0.next_psn + wire.count(from=B)").readings[1:]
    end = lab.session.world.event
    asked = {}
    for event in range(14, end + 1):
        lab.do(f"goto {event}")
        asked[event] = lab.look("A.qp0.next_psn + wire.count(from=B)")
    for reading, following in zip(readings, [*readings[1:], None], strict=True):
        stop = following.event if following else end + 1
        for event in range(max(reading.event, 14), stop):
            assert asked[event] == reading.value
    assert len(readings) > 8


def test_in_the_past_it_ends_where_one_stands() -> None:
    lab = lab_of(*BUSY, "run", "goto 10")
    before = everything(lab)
    assert [r.event for r in survey(lab, "A.qp0.state").readings] == [-1, 3, 8, 10]
    assert everything(lab) == before
    assert not lab.session.history.live


def test_slices_do_not_matter_and_stopping_leads_back() -> None:
    lab = lab_of(*BUSY, "run")
    whole, before = survey(lab, "wire.count()").readings, everything(lab)
    sliced = setting_out(lab, "trace wire.count()")
    assert isinstance(sliced, HistoryQuery)
    while not sliced.go(3):
        pass
    assert sliced.readings == whole
    cut = setting_out(lab, "trace wire.count()")
    assert isinstance(cut, HistoryQuery)
    cut.go(20)
    assert everything(lab) != before
    cut.stop()
    assert everything(lab) == before
    assert (cut.over, cut.met) == ("stopped", False)
    assert cut.readings == whole[: len(cut.readings)]
