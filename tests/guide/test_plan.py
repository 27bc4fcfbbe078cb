"""Where boxes and lines go; that nothing overlaps is asked of whole drawings in test_machine."""

from rdmalab.guide.machine import LINE, MachineLayout, Pair, is_bracket
from rdmalab.spec.states import QPState

RESET, INIT, RTR, RTS, SQD, SQE, ERR = QPState
ASKED: list[Pair] = [(RESET, INIT), (INIT, RTR), (RTS, SQD), (SQD, RTS), (SQE, RTS), (SQE, ERR)]


def plan_of(written: dict[Pair, int] | None = None, asked: list[Pair] = ASKED) -> MachineLayout:
    lines = written or {}
    return MachineLayout(
        asked, [(RTS, SQE)], lambda pair, _letters: [("word", "css")] * lines.get(pair, 0)
    )


def gap(plan: MachineLayout, above: QPState, below: QPState) -> float:
    return plan.boxes[below].y - plan.boxes[above].bottom


def test_the_column_grows_where_much_is_written() -> None:
    plain, wordy = plan_of(), plan_of({(INIT, RTR): 6, (SQE, RTS): 5})
    assert gap(wordy, INIT, RTR) >= 6 * LINE
    assert gap(wordy, SQD, SQE) >= 5 * LINE
    assert gap(wordy, RESET, INIT) == gap(plain, RESET, INIT) == gap(plain, INIT, RTR)
    assert wordy.bottom > plain.bottom


def test_two_lines_that_meet_keep_apart_and_one_alone_is_in_the_middle() -> None:
    plan = plan_of()
    (down, _), (up, _) = plan.points((RTS, SQD))[0], plan.points((SQD, RTS))[0]
    assert down < plan.boxes[RTS].middle < up
    assert plan.points((INIT, RTR))[0][0] == plan.boxes[INIT].middle


def test_words_stand_beside_their_line_one_below_the_other() -> None:
    plan = plan_of({(RTS, SQD): 2, (SQD, RTS): 1, (SQE, RTS): 2})
    first, second = plan.label((RTS, SQD))
    assert (first.anchor, second.y - first.y) == ("end", LINE)
    assert plan.label((SQD, RTS))[0].anchor == "start"
    assert plan.label((SQE, RTS))[-1].y < plan.boxes[SQE].y
    assert plan.label((INIT, RTR)) == []


def test_lines_on_one_side_of_a_box_have_heights_of_their_own() -> None:
    plan = plan_of()
    assert len(set(plan.heights.values())) == len(plan.heights) == 5
    asked, by_itself = plan.points((SQE, RTS)), plan.points((RTS, SQE), by_itself=True)
    assert asked[1][0] < by_itself[1][0]  # the one runs inside the other
    assert by_itself[0][1] < asked[-1][1]
    assert by_itself[-1][1] > asked[0][1]


def test_a_bracket_joins_those_that_are_no_neighbours() -> None:
    assert is_bracket((SQE, RTS))
    assert is_bracket((RTR, SQD))
    assert not any(map(is_bracket, [(RTS, SQD), (RTS, RTS), (SQD, RESET), (INIT, ERR), (ERR, RTS)]))
