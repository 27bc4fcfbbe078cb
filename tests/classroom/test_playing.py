"""A submission is played within its limits; a setup that fails is a fault of the lab."""

import pytest

from rdmalab.classroom.playing import BrokenLab, begun, play, run_steps
from tests.classroom.labs import RECV, SEND, loaded, text_of

TASK = '  - {id: a, points: 1, goal: [A.cq0.count == 0], try: ["post_recv A.qp0 sg=A.mr0[0:8]"]}\n'


def rules(text: str) -> str:
    return text_of(TASK, f"rules: {{limits: {{{text}}}}}\n")


def test_the_settled_world_is_judged() -> None:
    world = play(loaded(text_of(TASK)), [RECV, SEND])
    assert len(world.session.world.nodes["A"].cqs.items) == 1
    assert world.session.world.now_ns >= world.start.at_ns
    assert "start" in world.session.checkpoints


@pytest.mark.parametrize(
    ("limit", "lines", "reason"),
    [
        ("lines: 3", [RECV] * 4, "more than 3 lines"),
        ("events: 50", [RECV, *[SEND] * 3, "run"], "more than 50 events"),
        ("time: 1ms", ["run 2ms"], "more virtual time than the lab allows"),
        ("events: 2000", [SEND, *["run 1s"] * 3], "more than 2,000 events"),
    ],
)
def test_a_limit_cuts(limit: str, lines: list[str], reason: str) -> None:
    assert play(loaded(rules(limit)), lines).cut == reason


def test_a_setup_that_fails_is_a_fault_of_the_lab() -> None:
    text = text_of(TASK).replace("use rc_pair", "modify_qp A.qp9 state=INIT")
    with pytest.raises(BrokenLab):
        begun(loaded(text))


def test_steps_of_the_lab_run_in_the_world_and_name_what_failed() -> None:
    lab = loaded(text_of(TASK))
    world = begun(lab)
    assert run_steps(world, lab.steps[0].tried) == ""
    assert len(world.session.world.nodes["A"].qps.items) == 1
    bad = loaded(text_of(TASK.replace("A.mr0[0:8]", "A.mr9[0:8]")))
    assert "A.mr9" in run_steps(begun(bad), bad.steps[0].tried)
