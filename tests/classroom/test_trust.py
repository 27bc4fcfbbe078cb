"""What ways without work get: more where a goal can be fooled, and above a bar an error."""

from rdmalab.classroom.trust import (
    APPLIED,
    COPIED,
    HANDOUT,
    TRIED,
    WAYS,
    WRITTEN,
    Figure,
    figures,
    guessed,
)
from tests.classroom.labs import TEMPLATE, text_of

IDS = ["1", "2", "3", "4", "5", "6"]
SOLUTIONS = """\
solutions:
  accept:
    - name: a
      lines: ["post_recv B.qp0 sg=B.mr0[0:64]", "post_send A.qp0 opcode=SEND sg=A.mr0[0:5]"]
    - {name: b}
    - {name: c}
  reject: [{name: d}, {name: e}, {name: f}]
"""
HELLO = '  - use rc_pair\n  - write A.mr0[0:5] "hello"\n'
FIX = "  - {id: a, points: 4, goal: ['B.mr0[0:5] == \"hello\"']}\n"


def shares(tasks: str, more: str = "") -> dict[str, float]:
    text = text_of(tasks, more).replace("  - use rc_pair\n", HELLO) + SOLUTIONS
    return {each.way: each.share for each in figures(text, "x", IDS)}


def test_bytes_that_the_host_may_write_are_found() -> None:
    assert shares(FIX)[WRITTEN] == 1
    assert shares(FIX, "rules: {forbid: [write]}\n")[WRITTEN] == 0
    received = "  - {id: a, points: 4, goal: [B.cq0.total >= 1]}\n"
    assert shares(received)[WRITTEN] == 1  # by an empty message
    number = "  - {id: a, points: 4, goal: ['B.mr0[8] == 7 + 2']}\n"
    assert shares(number)[WRITTEN] == 1


def test_a_copy_fits_where_nothing_depends_on_the_student() -> None:
    assert shares(FIX)[COPIED] == 1
    own = "params: {at: {from: 0, to: 99}}\n"
    goal = "  - {id: a, points: 4, goal: ['${at} == 0']}\n"
    assert shares(goal, own)[COPIED] < 0.5


def test_apply_alone_is_found_where_the_lab_opens_it() -> None:
    sent = text_of("").partition("tasks:")[0] + "  - post_send A.qp0 opcode=SEND sg=A.mr0[0:64]\n"
    tasks = "tasks:\n  - {id: a, points: 4, goal: [B.cq0.total(status=SUCCESS) == 1]}\n"
    for rules, share in (("", 0), ("rules: {apply: open}\n", 1), ("rules: {apply: 3}\n", 0.25)):
        found = figures(sent + rules + tasks + SOLUTIONS, "x", ["1"])
        assert {each.way: each.share for each in found}[APPLIED] == share, rules


def test_a_choice_without_tries_gives_itself_away() -> None:
    choice = "[{text: x}, {text: y}, {text: z, right: true}]"
    task = f"  - {{id: c, points: 3, choice: {choice}}}\n"
    limited = task.replace("points: 3", "points: 3, tries: 1, shuffle: true")
    for tasks, tried in ((task, 1), (task.replace("points: 3", "points: 3, judged: grader"), 0)):
        found = shares(tasks)
        assert (found[HANDOUT], found[TRIED]) == (0, tried)
    assert 0 < shares(limited)[TRIED] < 1
    assert shares(limited)[COPIED] == guessed(text_of(limited), "x", IDS) == 1 / 3


def test_a_guess_knows_what_is_right_for_most() -> None:
    tasks = "  - {id: n, points: 2, answer: '${at}'}\n  - {id: m, points: 2, answer: 7}\n"
    text = text_of(tasks, "params: {at: {choose: [1, 2]}}\n")
    assert 0.75 <= guessed(text, "x", IDS) < 1
    assert guessed(text_of(FIX), "x", IDS) == 0


def test_above_its_bar_a_way_is_wrong() -> None:
    assert not Figure(COPIED, 0.5).wrong
    assert not Figure(COPIED, 0.204, 20).wrong
    assert Figure(COPIED, 0.206, 20).wrong == (
        "a copy of another student's work gets 21%, more than the 20 % of bars"
    )
    assert [each.bar for each in figures(TEMPLATE, "x", ["1"])] == [None] * 5
    bars = TEMPLATE.replace("tasks:", "bars: {copied: 9, handout: 0}\ntasks:")
    assert [each.bar for each in figures(bars, "x", ["1"])] == [9, None, None, 0, None]


def test_where_a_lab_sets_no_bar_lines_without_work_get_no_more_than_a_guess() -> None:
    found = figures(TEMPLATE, "x", ["1"], 0.1)
    assert {each.way: each.bar for each in found if each.is_guess} == dict.fromkeys(WAYS, 10)
    assert Figure(WRITTEN, 1, 10, is_guess=True).wrong == (
        "writing memory alone gets 100%, more than the 10 % of an honest guess: mend the goals, or"
        " allow it by bars: {written: 100}"
    )
    bars = TEMPLATE.replace("tasks:", "bars: {written: 9}\ntasks:")
    written = {each.way: each for each in figures(bars, "x", ["1"], 0.1)}[WRITTEN]
    assert (written.bar, written.is_guess) == (9, False)


def test_a_copy_and_choices_that_can_be_tried_are_a_warning_where_no_bar_allows_them() -> None:
    """What to write is named; written, there is no warning, and above a bar it is an error."""
    found = {each.way: each for each in figures(TEMPLATE, "x", ["1", "2"], 0.1)}
    assert not any(each.wrong for each in found.values())
    assert found[TRIED].warning == (
        "every choice tried until it is right gets 20%, more than the 10 % of an honest guess:"
        " write tries: 1 in answer-of-b, or allow it by bars: {tried: 20}"
    )
    assert found[COPIED].warning.endswith(
        "let the goals ask for params of many values, write shuffle: true in answer-of-b, or allow"
        f" it by bars: {{copied: {round(100 * found[COPIED].share)}}}"
    )
    assert [way for way, each in found.items() if each.warning] == [COPIED, TRIED]
    for change in ("    tries: 1\n    choice:", "    judged: grader\n    choice:"):
        mended = TEMPLATE.replace("    choice:", change, 1)
        (tried,) = (f for f in figures(mended, "x", ["1"], 0.1) if f.way == TRIED)
        assert not tried.warning, change
    for percent, wrong in ((20, False), (19, True)):
        allowed = TEMPLATE.replace("tasks:", f"bars: {{tried: {percent}}}\ntasks:")
        (tried,) = (f for f in figures(allowed, "x", ["1"], 0.1) if f.way == TRIED)
        assert (tried.warning, bool(tried.wrong)) == ("", wrong)


def test_a_lab_without_points_or_solutions_has_no_figure() -> None:
    assert figures(text_of(FIX), "x", IDS) == []
    assert figures(text_of(FIX.replace("4", "0")) + SOLUTIONS, "x", IDS) == []
