"""Grades: needs, points and hints, answers by the student's own world, hidden tasks, variation."""

import pytest

from rdmalab.classroom.grade_document import Grade
from rdmalab.classroom.judging import JudgedWork
from rdmalab.classroom.work_log import WorkLog
from tests.classroom.labs import RECV, SEND, graded, judged, passed, text_of

FIX = (
    "  - id: fix\n    points: 3\n    goal: [A.cq0.total(status=SUCCESS) == 1]\n"
    "    hints: [{cost: 0, text: h}, {cost: 2, text: i}]\n"
    "    when_wrong: {rnr-infinite: post a receive}\n    else: try again\n"
)
NEXT = "  - {id: next, points: 1, needs: [fix], goal: [A.qp0.state == RTS]}\n"


def test_a_task_that_needs_another_is_blocked_not_failed() -> None:
    grade = graded(text_of(FIX + NEXT), SEND)
    assert [(r.passed, r.score) for r in grade.results] == [(False, 0), (None, 0)]
    assert grade.results[1].reason == "blocked: needs fix"
    assert (grade.score, grade.of) == (0, 4)
    assert graded(text_of(FIX + NEXT), RECV, SEND).score == 4


def test_feedback_is_that_of_the_cause_which_why_names() -> None:
    cause = graded(text_of(FIX), SEND).results[0].cause
    assert cause is not None
    assert (cause.id, cause.help) == ("rnr-infinite", "post a receive")
    assert cause.rationale.startswith("NEVER")
    cause = graded(text_of(FIX)).results[0].cause
    assert cause is not None
    assert cause.help == "try again"


def hinted(*hints: str) -> Grade:
    return judged(text_of(FIX), JudgedWork([RECV, SEND], hints=hints))


def test_hints_cost_points_once_and_never_more_than_there_are() -> None:
    assert hinted("fix.1").score == 3
    assert hinted("fix.1", "fix.2", "fix.2").score == 1
    odd = hinted("fix.9", "fix.-1", "no.1", "fix.x", "")
    assert (odd.score, odd.hints) == (3, [])


def logged(*whats: str) -> list[str]:
    log = WorkLog()
    for what in whats:
        log.add(what)
    return log.entries


def test_a_hint_that_only_the_log_shows_is_paid() -> None:
    """Who deletes `hints:` from the submission does not win back their cost."""
    log = logged("hint fix.1", "hint fix.2", "line 1 event 3", "line 2 event 4")
    grade = judged(text_of(FIX), JudgedWork([RECV, SEND], log=log))
    assert (grade.score, grade.hints) == (1, ["fix.2"])


def test_without_a_whole_log_all_hints_are_paid() -> None:
    """Who removes `hints:` and `log:` pays the most that hints can cost."""
    log = logged("hint fix.1", "line 1 event 3", "line 2 event 4")
    assert judged(text_of(FIX), JudgedWork([RECV, SEND], log=log)).score == 3
    for other in ([], log[1:], log[:2]):
        assert judged(text_of(FIX), JudgedWork([RECV, SEND], log=other)).score == 1, other


def test_why_and_apply_have_the_price_that_the_lab_sets() -> None:
    log = logged("why event 3", "why event 5", "line 4 event 9")
    stuck = JudgedWork([SEND, "run 2ms", "apply", "run 1ms"], log=log)
    for rules, doctor, score in (
        ("{doctor: 1, apply: 0}", 2, 1), ("{doctor: open, apply: 1}", 1, 2),
        ("{doctor: 2, apply: 2}", 6, 0), ("{apply: open}", 0, 3),
    ):  # fmt: skip
        grade = judged(text_of(FIX, f"rules: {rules}\n"), stuck)
        assert (grade.doctor, grade.score) == (doctor, score), rules


def test_an_answer_is_asked_in_the_world_of_the_setup() -> None:
    tasks = (
        "  - id: n\n    points: 1\n    answer: log.last.errno\n"
        "    at: [{do: modify_qp A.qp0 state=RTR, errno: EINVAL}]\n"
        "  - {id: m, points: 1, answer: A.qp0.sq.capacity}\n"
    )
    lines = ("modify_qp A.qp0 state=ERR",)  # the student's own world is another one then
    assert passed(text_of(tasks), *lines, n="einval", m="0x8") == [True, True]
    assert passed(text_of(tasks), *lines, n="22", m="9") == [True, False]
    assert passed(text_of(tasks), *lines) == [False, False]


def test_a_choice_has_one_right_number() -> None:
    choice = "[{text: x, when_wrong: no}, {text: y, right: true}]"
    tasks = f"  - id: c\n    points: 1\n    choice: {choice}\n"
    assert passed(text_of(tasks), c="2") == [True]
    for answer in ("1", "3", "y", "0", "-1", "22", "²"):
        assert passed(text_of(tasks), c=answer) == [False], answer
    cause = graded(text_of(tasks), c="1").results[0].cause
    assert cause is not None
    assert cause.help == "no"


def test_a_probe_is_played_on_a_copy() -> None:
    tasks = (
        "  - id: probe\n    points: 1\n    try: ['post_recv A.qp0 sg=A.mr0[64:96]', "
        "'post_send B.qp0 opcode=SEND sg=B.mr0[0:8]', {run: 1ms}]\n"
        "    goal: [A.cq0.total(opcode=RECV) == 1]\n"
        "  - {id: after, points: 1, goal: [A.cq0.total(opcode=RECV) == 0]}\n"
    )
    assert passed(text_of(tasks)) == [True, True]
    assert passed(text_of(tasks), "modify_qp A.qp0 state=ERR")[0] is False


def test_a_submission_is_played_again_in_every_world() -> None:
    tasks = (
        "  - id: v\n    points: 1\n    vary: {late: [1us, 400us]}\n"
        "    goal: [B.cq0.total(status=SUCCESS) == 1]\n"
    )
    text = text_of(tasks, "link: {latency: '%{late}'}\nrules: {settle: step 0}\n").replace(
        "step 0", "run 1us"
    )
    assert passed(text, RECV, SEND, "run 1ms") == [True]
    result = graded(text, RECV, SEND, "run 100us").results[0]
    assert (result.passed, result.world) == (False, {"late": "400us"})


def test_what_is_hidden_is_not_judged_in_public() -> None:
    tasks = FIX + "  - {id: h, points: 2, hidden: true, announce: x, goal: [A.qp0.state == RTS]}\n"
    assert graded(text_of(tasks), RECV, SEND).score == 5
    public = judged(text_of(tasks), JudgedWork([RECV, SEND]), public=True)
    assert (public.score, public.of, public.results[1].passed) == (3, 5, None)


def test_a_cut_is_never_a_pass() -> None:
    grade = graded(text_of(FIX, "rules: {limits: {lines: 1}}\n"), RECV, SEND)
    assert (grade.verdict, grade.score) == ("cut", 0)
    assert all(result.passed is None for result in grade.results)


TWO = (
    "  - {id: sent, points: 2, goal: [{ever: A.cq0.total(status=SUCCESS) >= 1}]}\n"
    "  - {id: more, points: 1, goal: [B.cq0.total(status=SUCCESS) >= 2]}\n"
    "  - {id: probe, points: 1, goal: [A.cq0.count == 1], try: [run 1us]}\n"
)


@pytest.mark.parametrize(
    ("limit", "last"),
    [("events: 60", [SEND, "run"]), ("lines: 3", [RECV, SEND, "run"]), ("time: 1ms", ["run 2ms"])],
)
def test_a_cut_keeps_what_held_before_it(limit: str, last: list[str]) -> None:
    """What was reached has its points; what was not is not called wrong."""
    grade = graded(text_of(TWO, f"rules: {{limits: {{{limit}}}}}\n"), RECV, SEND, "run 50us", *last)
    assert (grade.verdict, grade.score, grade.passed) == ("cut", 2, False)
    assert [result.passed for result in grade.results] == [True, None, None]
    assert grade.results[1].reason == grade.reason


def test_a_fault_of_the_lab_is_not_graded() -> None:
    grade = graded(text_of(FIX).replace("use rc_pair", "dereg_mr A.mr7"), RECV)
    assert (grade.verdict, grade.results, grade.passed) == ("not-graded", [], False)
    tasks = "  - {id: n, points: 1, answer: A.cq9.count}\n"
    assert graded(text_of(tasks)).verdict == "not-graded"
