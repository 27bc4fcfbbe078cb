"""The parts of one evaluation: the request to stop, slices of a run, how a line ended."""

import asyncio
import time

import pytest

from rdmalab.lab import Lab
from rdmalab.recovery.write_ahead_log import NullLog
from rdmalab.session.interruption import Stopped, check
from rdmalab.session.run_control import STOPPED, Idle, RunControl
from rdmalab.shell.conversation import Conversation
from rdmalab.shell.evaluation import Computation, Evaluation, LineEnd, SliceSize, StopRequest
from rdmalab.shell.styled_text import Line, text_of


def paired() -> Conversation:
    """A conversation about an RC pair."""
    lab = Lab()
    lab.do("use rc_pair")
    return Conversation(lab)


def rnr_run() -> RunControl:
    """A run that does not end: RNR NAK and retransmission."""
    lab = Lab()
    lab.do("use rc_pair rnr_retry=7")
    lab.do("post_send A.qp0 opcode=SEND sg=A.mr0[0:64]")
    return RunControl(lab.session, Idle())


def test_a_stop_is_pending_until_it_has_ended_a_run() -> None:
    stop, travel = StopRequest(), rnr_run()
    stop.handle(travel)
    assert not stop.is_pending()
    assert not travel.over
    stop.stop()
    assert stop.is_pending()
    stop.handle(travel)
    assert travel.over == STOPPED
    assert not stop.is_pending()
    assert stop.requested


def test_an_interrupt_cancels_a_computation_and_ends_no_run() -> None:
    stop, travel = StopRequest(), rnr_run()
    stop.interrupt()
    stop.handle(travel)
    assert stop.is_pending()
    assert not travel.over


def test_slices_adapt_to_the_time_they_take() -> None:
    size = SliceSize()
    first = size.events
    size.adapt(took_s=0.1)
    assert size.events == first // 2
    for _ in range(20):
        size.adapt(took_s=0.1)
    assert size.events == 1
    for _ in range(40):
        size.adapt(took_s=0.0001)
    assert size.events == 20_000
    size.adapt(took_s=0.004)
    assert size.events == 20_000


def test_a_slice_runs_at_most_its_limit() -> None:
    travel = rnr_run()
    assert not SliceSize().go(travel, 7)
    assert travel.events == 7


@pytest.mark.parametrize(
    ("line", "end", "commands"),
    [
        ("alloc_pd A.pd1 ; alloc_pd A.pd2", LineEnd.FINE, 2),
        ("step ; dealloc_pd A.pd0 ; alloc_pd A.pd1", LineEnd.FAILED, 2),
        ("until A.nothing", LineEnd.NOT_UNDERSTOOD, 1),
        ("quit ; alloc_pd A.pd1", LineEnd.LEFT, 1),
    ],
)
def test_how_a_line_ends_and_how_many_of_its_commands_were_carried_out(
    line: str, end: LineEnd, commands: int
) -> None:
    evaluation = Evaluation(paired())
    asyncio.run(evaluation.carry_out(line))
    assert (evaluation.end, evaluation.commands) == (end, commands)


def test_a_nested_line_has_its_own_end_and_the_same_request_to_stop() -> None:
    outer = Evaluation(paired())
    printed: list[Line] = []
    inner = outer.nested(printed.append, NullLog())
    asyncio.run(inner.carry_out("dealloc_pd A.pd0"))
    assert (inner.end, outer.end) == (LineEnd.FAILED, LineEnd.FINE)
    assert any("EBUSY" in text_of(row) for row in printed)
    outer.stop.stop()
    asyncio.run(inner.carry_out("alloc_pd A.pd1"))
    assert inner.end is LineEnd.STOPPED


def counting(to: int) -> int:
    for number in range(to):
        check(number, to)
        time.sleep(0.001)
    return to


def test_a_computation_pauses_at_its_checks_and_says_how_far_it_is() -> None:
    work = Computation(lambda: counting(40), lambda: False)
    slices = []
    while not work.go(0.005):
        slices.append(work.progress)
    assert len(slices) > 2
    assert slices[0].endswith(" of 40, 0 s")
    assert len(set(slices)) == len(slices)
    assert work.result() == 40


def test_a_short_computation_is_over_after_one_slice_and_its_exception_is_raised() -> None:
    assert Computation(lambda: 1, lambda: False).go(1)
    wrong = Computation(lambda: 1 // 0, lambda: False)
    assert wrong.go(1)
    with pytest.raises(ZeroDivisionError):
        wrong.result()


@pytest.mark.parametrize("by", ["the user", "the face"])
def test_a_computation_that_is_not_wanted_any_more_ends(by: str) -> None:
    asked: list[int] = []
    work = Computation(lambda: counting(10_000), lambda: bool(asked))
    assert not work.go(0.005)
    asked += [1] if by == "the user" else []
    work.go(60) if asked else work.cancel()
    with pytest.raises(Stopped):
        work.result()
