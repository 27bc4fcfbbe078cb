"""Goals: at the end, and over the time since the setup on the branch that is handed in."""

from hypothesis import given, settings
from hypothesis import strategies as st

from rdmalab.classroom.goals import judge
from rdmalab.classroom.model import Goal
from rdmalab.classroom.playing import Played, play
from tests.classroom.labs import RECV, SEND, graded, loaded, text_of
from tests.each import each

TASK = "  - {id: a, points: 1, goal: [A.cq0.count == 0]}\n"
WELL = (RECV, SEND, "run 1ms", "poll_cq A.cq0")
RESET = ("modify_qp B.qp0 state=ERR",)


def played(*lines: str) -> Played:
    return play(loaded(text_of(TASK)), lines)


def met(world: Played, goal: object) -> bool:
    (judged,) = judge(world.session, [Goal.model_validate(goal)], world.start, {})
    assert judged.met == (not judged.wrong)
    return judged.met


@each(
    "goal, expected",
    [
        ("A.cq0.total(status=SUCCESS) == 1", True),
        ("A.cq0.total == 2", False),
        ("A.cq7.count == 0", False),  # what does not exist is not met, and no error
        ({"ever": "A.cq0.count == 1"}, True),
        ({"ever": "A.cq0.count == 2"}, False),
        ({"never": "A.cq0.count == 1"}, False),
        ({"never": "A.qp0.state == ERR"}, True),
        ({"always": "A.qp0.state == RTS"}, True),
        ({"always": "A.cq0.count == 0"}, False),
        ({"ever": "A.cq0.count == 1", "by": "1ms"}, True),
        ({"ever": "A.cq0.count == 1", "by": "1ns"}, False),
        ({"ever": "B.cq0.count == 1", "before": "A.cq0.count == 1"}, True),
        ({"ever": "A.cq0.count == 1", "before": "B.cq0.count == 1"}, False),
        ({"ever": "A.cq0.count == 1", "before": "B.qp0.state == ERR"}, True),
    ],
)
def test_a_goal_is_met_or_not(goal: object, expected: bool) -> None:
    assert met(played(*WELL), goal) is expected


def test_the_last_event_has_its_own_time_not_that_of_the_end() -> None:
    world = played(RECV, SEND, "run 50ms")  # the ACK is the last event, after some us
    assert world.session.history.here.at_ns > 100_000_000
    assert met(world, {"ever": "A.cq0.count == 1", "by": "1ms"})
    assert met(world, {"never": "A.cq0.count == 1 and now > 1ms"})


def test_the_setup_is_before_the_time_of_a_goal() -> None:
    assert not met(played(*WELL), {"ever": "A.qp0.state == INIT"})


def test_what_was_undone_by_going_back_is_not_on_the_branch() -> None:
    world = played("modify_qp A.qp0 state=ERR", "back 1", *WELL)
    assert met(world, {"never": "A.qp0.state == ERR"})
    assert met(world, "A.cq0.total(status=SUCCESS) == 1")


def test_asking_changes_nothing() -> None:
    world = played(*WELL)
    before = (world.session.history.here, len(world.session.world.trace.records))
    met(world, {"never": "A.cq0.count == 7"})
    assert (world.session.history.here, len(world.session.world.trace.records)) == before


_LINES = st.lists(st.sampled_from([RECV, SEND, "run 1us", "poll_cq A.cq0", "step"]), max_size=8)
_ASKED = st.sampled_from(["A.cq0.count > 0", "B.cq0.count > 0", "A.qp0.sq.used > 1", "0 == 1"])


@settings(max_examples=25, deadline=None)
@given(_LINES, _ASKED)
def test_ever_never_and_always_agree(lines: list[str], question: str) -> None:
    world = played(*lines)
    ever = met(world, {"ever": question})
    assert met(world, {"never": question}) is not ever
    assert met(world, {"always": f"not ({question})"}) is not ever
    if world.session.world.event > world.start.event and met(world, question):
        assert ever


def test_a_goal_over_time_whose_name_is_bound_to_nothing_is_not_met() -> None:
    task = "  - {id: a, points: 1, bind: {q: A.cq0.last.qp}, goal: [never: '%{q}.state == ERR']}\n"
    nothing, sent = (graded(text_of(task), *lines).results[0] for lines in ((), WELL))
    assert nothing.wrong == ["A.cq0.last.qp.state == ERR: there is no A.cq0.last.qp yet"]
    assert (nothing.passed, sent.passed) == (False, True)


def test_a_name_is_bound_in_the_finished_world() -> None:
    tasks = (
        "  - {id: a, points: 1, bind: {q: A.cq0.last.qp}, goal: ['%{q}.state == RTS']}\n"
        "  - {id: b, points: 1, bind: {q: A.cq7.last.qp}, goal: ['%{q}.state == RTS']}\n"
    )
    first, other = graded(text_of(tasks), *WELL).results
    assert first.passed
    assert other.wrong == ["A.cq7.last.qp.state == RTS: there is no A.cq7.last.qp yet"]
