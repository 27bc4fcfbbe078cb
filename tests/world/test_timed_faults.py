"""Accidents: a region deregistered, a queue pair killed, at a time or when a packet passes."""

import pytest

from rdmalab.lab import Lab
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.records import Kind
from rdmalab.views import story
from tests.labs import everything, lab_of, misread, played_again, refusal, seen, status, well

_WRITE = "post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:2000] remote=B.mr0 flags=SIGNALED"


def struck(lab: Lab) -> list[tuple[int, str]]:
    return [(at_ns, why_not) for at_ns, _, why_not in seen(lab, Kind.FAULT_TRIGGERED)]


def test_a_region_goes_while_packets_are_under_way_to_it() -> None:
    """The key is looked at when the first packet arrives; by then it is gone."""
    lab = lab_of("fault dereg B.mr0 A->B nth=2", _WRITE, "run")
    assert len(struck(lab)) == 1
    assert status(lab) == "REM_ACCESS_ERR"
    assert lab.session.names.is_free("B.mr0")
    assert refusal(lab, "dereg_mr B.mr0").errno
    assert well(lab, "fault list").value == []


def test_timed_fault_happens_at_its_time() -> None:
    lab = lab_of("fault dereg B.mr0 at=9.2us", _WRITE, "run 9.1us")
    assert struck(lab) == []
    assert status(lab) == "SUCCESS"
    well(lab, "run")
    assert struck(lab) == [(9_200, "")]
    assert refusal(lab, _WRITE).rule == "use-after-destroy"


def test_a_killed_queue_pair_is_told_by_its_device_and_flushed() -> None:
    lab = lab_of("post_recv B.qp0 wr_id=7 sg=B.mr0[0:64]", "fault kill B.qp0 at=1us", "run")
    assert lab.look("B.qp0.state == ERR")
    assert [event for _, event, _ in seen(lab, Kind.ASYNC_RAISED, "B")] == [AsyncEvent.QP_FATAL]
    assert lab.look("B.cq0.next.status == WR_FLUSH_ERR")
    well(lab, f"{_WRITE}; run")
    assert status(lab) == "RETRY_EXC_ERR"


def test_timed_fault_without_time_happens_next() -> None:
    lab = lab_of("run 3us", "fault kill A.qp0", "step")
    assert struck(lab) == [(3_000, "")]


def test_timed_fault_happens_once_and_counts_lost_packets() -> None:
    lab = lab_of("fault drop A->B", "fault kill A.qp0 A->B opcode=RDMA_WRITE_LAST", _WRITE, "run")
    assert len(struck(lab)) == 1
    assert status(lab) == "WR_FLUSH_ERR"


def test_packets_behind_the_one_that_sets_it_off_do_not_set_it_off_again() -> None:
    lab = lab_of("fault dereg B.mr0 A->B", _WRITE, _WRITE, "run")
    assert len(struck(lab)) == 1


@pytest.mark.parametrize(
    ("before", "why_not"),
    [
        ("dereg_mr A.mr0", "there is no mr any more"),
        ("device_fatal A", "the device is gone"),
    ],
)
def test_timed_fault_that_cannot_happen_says_why(before: str, why_not: str) -> None:
    lab = lab_of("fault dereg A.mr0 at=1us", before, "run")
    assert struck(lab) == [(1_000, why_not)]


def test_a_region_with_a_window_on_it_is_refused_as_to_a_program() -> None:
    lab = lab_of(
        "alloc_mw A.mw0 pd=A.pd0 type=TYPE_2",
        "reg_mr A.mr1 pd=A.pd0 length=64 access=LOCAL_WRITE|MW_BIND",
        "post_send A.qp0 opcode=BIND_MW mw=A.mw0 bind=A.mr1[0:64] bind_access=REMOTE_READ",
        "run", "fault dereg A.mr1", "run",
    )  # fmt: skip
    ((_, why_not),) = struck(lab)
    assert "window" in why_not
    assert not lab.session.names.is_free("A.mr1")


def test_a_queue_pair_in_err_is_not_killed_again() -> None:
    lab = lab_of("modify_qp A.qp0 state=ERR", "fault kill A.qp0", "run")
    assert struck(lab) == [(0, "the QP is in ERR")]
    assert seen(lab, Kind.ASYNC_RAISED, "A") == []


def test_what_is_cleared_does_not_happen_and_is_no_event() -> None:
    lab = lab_of("fault kill A.qp0 at=1us", "fault dereg A.mr0 at=2us", "fault clear 1")
    before = lab.session.world.event
    well(lab, "run")
    assert lab.session.world.event == before + 1
    assert lab.look("A.qp0.state == RTS")


@pytest.mark.parametrize(
    ("line", "under", "message"),
    [
        ("fault dereg A.qp0", "A.qp0", "this fault does not apply to a qp"),
        ("fault kill A.mr0", "A.mr0", "this fault does not apply to a mr"),
        ("fault kill", "kill", "which queue pair?"),
        ("fault dereg at=1us", "dereg", "which memory region?"),
        ("fault kill A.qp0 at=1us", "1us", "this time is in the past"),
        ("fault kill A.qp0 at=9us nth=2", "9us", "at a time, or at a packet?"),
        ("fault kill A.qp0 count=2", "2", "kill takes no count"),
        ("fault drop A.qp0", "A.qp0", "drop takes no victim"),
        ("fault drop at=1us", "1us", "drop takes no at"),
    ],
)
def test_timed_fault_mistakes(line: str, under: str, message: str) -> None:
    lab = lab_of("run 2us")
    error = misread(lab, line)
    assert error.message == message
    assert line[error.place.start : error.place.stop] == under
    assert lab.session.world.network.cable.faults == []


def test_timed_fault_is_listed_by_name() -> None:
    lab = lab_of("fault kill A.qp0 at=1us")
    (row,) = well(lab, "show agenda").value.rows
    assert row.text == "1.000 us A fault 1 is applied: kill A.qp0 at=1us (planned)"
    well(lab, "run")
    session = lab.session
    told = story.event_row(session.world, session.names, session.world.event).text
    assert "timed fault applied: kill A.qp0 at=1us" in told
    assert "raised QP_FATAL" in told


def test_timed_fault_in_the_history() -> None:
    """Names too: what is destroyed on the way is retired on each way there."""
    lab = lab_of("fault dereg B.mr0 A->B nth=2", _WRITE, "run", "reg_mr B.mr0 pd=B.pd0 length=64 "
                 "access=LOCAL_WRITE", "fault kill B.qp0 at=9ms", "run")  # fmt: skip
    assert everything(played_again(lab)) == everything(lab)
