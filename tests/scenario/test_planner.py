"""Steps as lines of the prompt: each action, setup first, questions checked."""

import pytest

from rdmalab.scenario.loader import loads
from rdmalab.vocabulary import VOCABULARY
from tests.scenario.test_loader import TOP, H, wrong


def test_a_step_may_be_a_line_or_a_mapping() -> None:
    scenario = loads(f"{H}  - alloc_pd A.pd0\n  - do: alloc_pd A.pd1\n", "x.yaml", VOCABULARY)
    assert [step.line for step in scenario.steps] == ["alloc_pd A.pd0", "alloc_pd A.pd1"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("run:", "run"),
        ("run: 10us", "run 10us"),
        ("run: 10 us", "run 10 us"),
        ("run:\n    within: 1 ms", "until idle"),
        ("fault: delay A->B 3 us", "fault delay A->B 3 us"),
        ("run: step packet", "step packet"),
        ("run: until now == 3", "until now == 3"),
        ("run:\n    within: 1ms", "until idle"),
        ("run: back 2 packet", "back 2 packet"),
        ("run: rewind 1us", "rewind 1us"),
        ("run: goto @before-nak", "goto @before-nak"),
        ("fault: clear", "fault clear"),
        ("checkpoint: here", "checkpoint here"),
        ("note: Read this.", ""),
    ],
)
def test_every_action_is_a_line_of_the_prompt(text: str, line: str) -> None:
    assert loads(f"{H}  - {text}\n", "x.yaml", VOCABULARY).steps[0].line == line


def test_the_setup_comes_first() -> None:
    text = f"{TOP}steps:\n  - alloc_pd A.pd1\nsetup:\n  - alloc_pd A.pd0\n"
    steps = loads(text, "x.yaml", VOCABULARY).steps
    assert [(step.is_setup, step.line) for step in steps] == [
        (True, "alloc_pd A.pd0"),
        (False, "alloc_pd A.pd1"),
    ]


@pytest.mark.parametrize(
    ("question", "column", "message"),
    [("A.qp0.stat == RTS", 14, "A.qp0 has no"), ("A.qp0.state == RTT", 29, '"RTT" is no QP state')],
)
def test_a_wrong_question_is_refused_before_the_first_step(
    question: str, column: int, message: str
) -> None:
    error = wrong(f"{H}  - use rc_pair\n  - run:\n    expect: [{question}]\n")
    assert error.message.startswith(message)
    assert error.place is not None
    assert (error.place.line, error.place.column) == (6, column)
