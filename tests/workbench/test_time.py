"""The words that move time; what a journey does is tests/session/test_run_control.py."""

import pytest

from rdmalab.session.run_control import Idle, Steps, When
from rdmalab.spec.records import Kind
from tests.labs import RECV, SEND, lab_of, misread, setting_out, well


@pytest.mark.parametrize(
    ("line", "goal"),
    [
        ("step", Steps(1, None)),
        ("step 5", Steps(5, None)),
        ("step packet", Steps(1, Kind.PACKET_SENT)),
        ("step 3 wr", Steps(3, Kind.WQE_COMPLETED)),
        ("step timer", Steps(1, Kind.TIMER_FIRED)),
        ("run", Idle()),
        ("run 100us", Idle(1_100_000)),
        ("run 100 us", Idle(1_100_000)),
        ("run 655.4 ms", Idle(656_400_000)),
        ("run 655.4ms", Idle(656_400_000)),
        ("run 0ns", Idle(1_000_000)),
    ],
)
def test_words_become_goals(line: str, goal: object) -> None:
    lab = lab_of("run 1ms")
    assert setting_out(lab, line).goal == goal


def test_within_counts_from_now() -> None:
    lab = lab_of("run 1ms")
    goal = setting_out(lab, "until A.cq0.count == 1 within 2ms").goal
    assert isinstance(goal, When)
    assert (goal.text, goal.until_ns) == ("A.cq0.count == 1", 3_000_000)


def test_within_may_be_written_as_a_key() -> None:
    goal = setting_out(lab_of(), "until A.cq0.count == 1 within=2ms").goal
    assert goal.until_ns == 2_000_000


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("run 5", "did you mean 5us?"),
        ("step pakcet", "did you mean packet?"),
        ("step 0", "write 1 or more"),
        ("run -1us", "write 0ns or more"),
        ("until A.cq0.count = 1", "did you mean ==?"),
        ("until A.cq9.count == 1", "did you mean A.cq0?"),
        ("until A.cq0.cuont == 1", "did you mean count?"),
    ],
)
def test_a_mistake_has_one_hint(line: str, hint: str) -> None:
    assert misread(lab_of(), line).hint == hint


@pytest.mark.parametrize(
    "line",
    [
        "run 10 us",
        "until A.qp0.state == ERR within 10 us",
        "program A.tx lines={sleep 10 us; stop}; run 10 us",
        "fault delay A->B 3 us; link latency=4 us rate=25 Gbps; run 0.01 ms",
    ],
)
def test_a_time_may_have_a_space_before_its_unit(line: str) -> None:
    lab = lab_of("program A.pulse lines={loop; sleep 3 us; end}", line)
    assert lab.session.world.now_ns == 10_000


def test_a_checkpoint_names_this_moment() -> None:
    lab = lab_of(RECV, SEND, "step")
    assert well(lab, "checkpoint before-nak").value == "@before-nak is event 16 at 0.100 us"
