"""Going back: where it ends, what it finds on the way, and that it is the mirror of going on."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdmalab.lab import Lab
from rdmalab.session import history
from rdmalab.session.branch import TimePoint
from rdmalab.session.breakpoints import UNKNOWN
from rdmalab.session.reverse import BEGINNING, ENDING, HistoryQuery
from rdmalab.session.run_control import PRESENT, UNITS
from rdmalab.spec.records import event_of, kind_of
from rdmalab.spec.states import QPState
from tests.labs import BUSY, RECV, SEND, everything, lab_of, misread, setting_out, trip, well
from tests.machine.sessions import random_lab

few = settings(max_examples=15, derandomize=True)
seeds = st.integers(0, 2**32 - 1)


@pytest.fixture(autouse=True)
def _close_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many stretches to look through, and most of the trace recalled."""
    for name, value in (("EVENTS_APART", 8), ("RECENT", 6), ("OLD", 2), ("HOT", 2)):
        monkeypatch.setattr(history, name, value)


def here(lab: Lab) -> TimePoint:
    return lab.session.history.here


def busy() -> Lab:
    return lab_of(*BUSY, "run")


# --------------------------------------------------------------------------- back
@pytest.mark.parametrize(
    ("unit", "least"),
    [("event", 30), ("packet", 12), ("wr", 3), ("cqe", 3), ("state", 0), ("timer", 3)],
)
def test_from_any_stop_of_a_step_a_step_and_one_back_is_the_same_place(
    unit: str, least: int
) -> None:
    lab = lab_of(*BUSY, SEND, SEND, pair="use rc_pair rnr_retry=4 min_rnr_timer=1")
    trip(lab, f"step {unit}")
    stops = 0
    while True:
        before = everything(lab)
        if not trip(lab, f"step {unit}").met:
            break
        trip(lab, f"back {unit}")
        assert everything(lab) == before
        trip(lab, f"step {unit}")
        stops += 1
    assert stops >= least


@pytest.mark.parametrize("unit", ["packet", "wr", "cqe", "state", "timer"])
def test_back_by_a_unit_finds_each_event_with_such_a_record(unit: str) -> None:
    lab = busy()
    latest = lab.session.world.event
    records = lab.session.world.trace.records
    wanted = {event_of(r) for r in records if kind_of(r) is UNITS[unit]} - {latest}
    found = []
    while (travel := trip(lab, f"back {unit}")).met:
        found.append(lab.session.world.event)
    assert found == sorted(wanted, reverse=True)
    assert travel.over == BEGINNING
    assert lab.session.world.event == -1
    lab.do("goto end")
    trip(lab, f"back {len(found)} {unit}")
    assert lab.session.world.event == found[-1]


def test_back_counts_in_events_and_returns_their_number() -> None:
    lab = busy()
    event = lab.session.world.event
    travel = trip(lab, "back 5")
    assert (travel.over, travel.met, travel.events) == ("there", True, 5)
    assert lab.session.world.event == event - 5
    assert (trip(lab, "back 500").over, here(lab)) == (BEGINNING, TimePoint(-1, 0))
    travel = trip(lab, "back")
    assert (travel.over, travel.met, travel.events) == (BEGINNING, False, 0)


def test_run_in_the_past_ends_once_at_the_present() -> None:
    lab = lab_of(SEND, "run 20us")
    end = everything(lab)
    trip(lab, "back 4")
    travel = trip(lab, "run")
    assert (travel.over, everything(lab)) == (PRESENT, end)
    assert trip(lab, "step").events == 1
    assert lab.session.world.event > end[3][0]


def test_back_ends_where_time_stood() -> None:
    lab = lab_of(SEND, "run 3us")  # some time after the last event
    stood = everything(lab)
    trip(lab, "step")
    trip(lab, "back")
    assert everything(lab) == stood


def test_where_time_stood_on_one_branch_says_nothing_about_another() -> None:
    lab = lab_of(SEND, "run 10us")
    event = lab.session.world.event
    trip(lab, "step")  # sets out from 10 us
    trip(lab, "goto 13")
    well(lab, "post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:4096] remote=B.mr0 flags=SIGNALED")
    trip(lab, "run")
    trip(lab, f"goto {event}")
    assert lab.session.world.trace.records[-1][0] == event
    assert lab.session.world.now_ns == lab.session.world.trace.records[-1][1]


# --------------------------------------------------------------------------- rewind
def test_rewind_without_a_breakpoint_goes_to_the_beginning() -> None:
    lab = busy()
    travel = trip(lab, "rewind")
    assert (travel.over, travel.met, here(lab)) == (BEGINNING, True, TimePoint(-1, 0))


def test_rewind_for_a_while_is_to_that_time() -> None:
    lab = busy()
    now_ns = lab.session.world.now_ns
    assert trip(lab, "rewind 1us").met
    assert lab.session.world.now_ns == now_ns - 1000
    stood = everything(lab)
    trip(lab, "rewind 2us")
    trip(lab, f"goto {now_ns - 1000}ns")
    assert everything(lab) == stood


def test_rewinding_over_the_beginning_never_goes_on() -> None:
    lab = busy()
    trip(lab, "goto 3")  # all commands were given at time zero
    travel = trip(lab, "rewind 1us")
    assert (travel.over, here(lab)) == (BEGINNING, TimePoint(-1, 0))
    assert misread(lab, "rewind 0ns").hint == "write 1ns or more"


def test_rewind_for_a_while_finds_nothing_older_and_halts_at_what_is_younger() -> None:
    lab = busy()
    well(lab, "break A.qp0.state == RTS")  # event 12, at time zero
    now_ns = lab.session.world.now_ns
    assert trip(lab, "rewind 1us").over == "there"
    assert lab.session.world.now_ns == now_ns - 1000
    assert trip(lab, f"rewind {now_ns}ns").over == "breakpoint 1: A.qp0.state == RTS"
    assert lab.session.world.event == 12


def test_stopping_a_rewind_changes_nothing() -> None:
    lab = busy()
    well(lab, "break A.qp0.state == INIT")
    whole = everything(lab)
    travel = setting_out(lab, "rewind")
    assert not travel.go()
    assert not travel.go()
    assert everything(lab) != whole
    travel.stop()
    assert (travel.over, travel.met) == ("stopped", False)
    assert everything(lab) == whole
    assert lab.session.history.live


# --------------------------------------------------------------------------- goto
def test_a_time_between_two_events_and_exactly_at_one() -> None:
    lab = busy()
    times = [r[1] for r in lab.session.world.trace.records]
    first, second = sorted(set(times))[2:4]
    trip(lab, f"goto {first}ns")
    at_the_first = lab.session.world.event
    assert max(r[1] for r in lab.session.world.trace.records) == first
    trip(lab, f"goto {second - 1}ns")
    assert here(lab) == TimePoint(at_the_first, second - 1)
    trip(lab, f"goto {second}ns")
    assert lab.session.world.event > at_the_first


def test_beyond_the_end_is_the_end() -> None:
    lab = busy()
    end = everything(lab)
    trip(lab, "goto 5")
    travel = trip(lab, "goto 1s")
    assert (travel.over, travel.met, everything(lab)) == (ENDING, False, end)
    trip(lab, "goto start")
    assert trip(lab, "goto ev999").over == "there is no event 999 yet"
    assert everything(lab) == end
    assert trip(lab, "goto end").met


def test_a_checkpoint_of_another_branch_leads_onto_it() -> None:
    lab = lab_of(SEND, "checkpoint there", "run 5us", "goto 13", RECV)
    assert lab.session.history.branch.name == "branch-1"
    well(lab, "alloc_pd B.only")
    trip(lab, "goto @there")
    assert lab.session.history.branch.name == "main"
    assert (lab.session.world.event, lab.session.history.live) == (14, False)
    assert misread(lab, "dealloc_pd B.only").message == "nothing is called B.only"
    error = misread(lab, "goto @here")
    assert (error.message, error.hint) == ("no checkpoint is called here", "there is: @there")
    assert lab.session.history.branch.name == "main"


@few
@given(seeds, st.data())
def test_a_jump_to_a_time_is_where_one_runs_to(seed: int, data: st.DataObject) -> None:
    lab = random_lab(Random(seed))
    end_ns = lab.session.world.now_ns
    at_ns = data.draw(st.integers(0, end_ns))
    lab.do(f"goto {at_ns}ns")
    jumped = everything(lab)
    lab.do("goto start")
    lab.do(f"run {at_ns}ns" if at_ns < end_ns else "goto end")
    assert everything(lab) == jumped


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
