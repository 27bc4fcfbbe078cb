"""What a step `why` must find, and how it is told that it did not."""

from dataclasses import replace
from typing import Any

import pytest

from rdmalab.doctor.evidence.finding import Fix, fact, fail
from rdmalab.doctor.report.report import Report, TriedFix
from rdmalab.scenario.result import StepOutcome, Stop
from rdmalab.scenario.runner import judge_report
from tests.doctor.saying import cause, failed
from tests.scenario import playing
from tests.scenario.playing import PAIR

BAD = (
    f"{PAIR}  - post_send A.qp0 wr_id=7 opcode=RDMA_WRITE sg=A.mr0[0:5] remote_addr=0x64 rkey=1"
    " flags=SIGNALED\n  - run: until idle\n"
)


def judged(report: Report, more: str) -> list[str]:
    """The lines of the failure; none where the step is content."""
    run = playing.runner(f"{PAIR}  - why:\n{more}")
    run.next_step()
    try:
        judge_report(run.session, run.scenario.steps[-1], report)
    except Stop as stop:
        return [f"{stop.failure.what}:", *stop.failure.lines]
    return []


@pytest.mark.parametrize(
    "more",
    [
        "",
        "    cause: rem-access\n",
        "    cause: rem-access\n    station: qp-err-flush\n",
        "    cause: small-cq\n    verdict: warning\n",
    ],
)
def test_what_is_found_is_enough(more: str) -> None:
    assert judged(failed(), more) == []


def test_a_wrong_cause_fails_with_the_whole_answer() -> None:
    lines = judged(failed(), "    cause: too-early\n")
    assert lines[:4] == [
        "cause:",
        "expected  too-early",
        "actual    rem-access",
        "because   FAILED  A.qp0.wr[7] ended with WR_FLUSH_ERR; "
        "its completion is not polled  [ev 32]",
    ]
    assert lines[4] == "           1. rem-access of A.qp0.wr[6]: the rule of rem-access"


def test_the_second_cause_is_not_the_root_but_any_warning_counts() -> None:
    both = failed()
    both.causes.append(cause(1, "other", fail(fact("x", 1))))
    assert judged(both, "    cause: other\n")[2] == "actual    rem-access, then other"
    both.warnings.append(cause(2, "odd", fail(fact("x", 1))))
    assert judged(both, "    cause: odd\n    verdict: warning\n") == []
    assert judged(both, "    cause: rem-access\n    verdict: warning\n")[2] == (
        "actual    small-cq, then odd"
    )


def test_a_root_is_no_station() -> None:
    lines = judged(failed(), "    cause: rem-access\n    station: rem-access\n")
    assert lines[:3] == ["station:", "expected  rem-access", "actual    rem-access -> qp-err-flush"]


def test_a_cause_names_an_event() -> None:
    vague = failed(causes=[cause(71, "rem-access", fail(fact("it is so now")))])
    assert judged(vague, "    cause: rem-access\n") == [
        "evidence:",
        "expected  rem-access names an event",
        "actual    it is so now",
    ]


@pytest.mark.parametrize(
    ("remedy", "more", "text"),
    [
        (None, "cure: program", "actual    no fix"),
        (TriedFix(Fix(["run"])), "cure: program", "actual    run"),
        (None, "goal: [A.qp0.state == RTS]", "actual    no fix"),
        (TriedFix(Fix(program="poll")), "goal: [A.qp0.state == RTS]", "actual    poll"),
        (TriedFix(Fix(["run"])), "goal: [A.qp0.state == ERR]", "actual    run"),
        (TriedFix(Fix(["nonsense"])), "goal: [A.qp0.state == RTS]", "actual    nonsense"),
    ],
)
def test_the_fix_keeps_its_word(remedy: Any, more: str, text: str) -> None:
    report = replace(failed(), remedy=remedy)
    assert text in judged(report, f"    cause: rem-access\n    {more}\n")


def test_a_goal_is_tried_on_a_branch() -> None:
    report = replace(failed(), remedy=TriedFix(Fix(["modify_qp A.qp0 state=ERR"])))
    assert judged(report, "    cause: rem-access\n    goal: [A.qp0.state == ERR]\n") == []
    assert judged(report, "    cause: rem-access\n    goal: [A.qp0.state == RTS]\n") == [
        "goal:",
        "expected  A.qp0.state == RTS",
        "actual    false after the fix:",
        "actual    modify_qp A.qp0 state=ERR",
    ]


def test_only_the_program_can_be_changed() -> None:
    report = replace(failed(), remedy=TriedFix(Fix(program="poll before you wait")))
    assert judged(report, "    cause: rem-access\n    cure: program\n") == []


def test_in_a_file() -> None:
    why = "  - why: A.qp0.wr[7]\n    cause: rem-access\n"
    assert playing.failure_text(f"{BAD}{why}") == ""
    assert playing.failure_text(f"{BAD}{why}    goal: [A.cq0.last.status == SUCCESS]\n") == ""
    wrong = playing.last(f"{BAD}{why}    goal: [A.cq9.count == 1]\n")
    assert wrong.outcome is StepOutcome.ERROR
    assert "x.yaml:9:" in wrong.text("x.yaml")
    assert playing.failure_text(f"{BAD}{why.replace('rem-access', 'too-early')}").splitlines()[
        :3
    ] == ["FAIL x.yaml:7  cause", "  expected  too-early", "  actual    rem-access"]


@pytest.mark.parametrize(
    ("lines", "plain", "text"),
    [
        ("", "no", ""),
        ("", "rem-access", "actual    well"),
        (BAD, "rem-access", ""),
        (BAD, "rnr-infinite", "actual    rem-access"),
        (BAD, "no", "actual    rem-access"),
    ],
)
def test_what_why_alone_says_is_judged_too(lines: str, plain: str, text: str) -> None:
    run = playing.runner(f"{lines or PAIR}  - why:\n    cause: rem-access\n    plain: {plain}\n")
    while (step := run.coming) is not None and step.step.why is None:
        run.next_step()
    found: list[str] = []
    try:
        judge_report(run.session, run.scenario.steps[-1], failed())
    except Stop as stop:
        found = [stop.failure.what, *stop.failure.lines]
    assert found[:1] == (["plain"] if text else [])
    assert not text or text in found
