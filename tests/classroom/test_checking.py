"""A lab is tested by its solutions: also under other names, and what is wrong is found."""

from rdmalab.classroom.checking import idle_locks, renamed, students, trials, vary_errors
from tests.classroom.labs import FOLDER, TEMPLATE, loaded, text_of
from tests.each import a_third, drawn_numbers, each

LABS = [path.name for path in sorted(FOLDER.glob("*.lab.yaml"))]


def wrong(text: str, count: int = 1) -> list[str]:
    found = trials(text, "x", students(count))
    return [f"{trial.name}: {trial.wrong}" for trial in found if trial.wrong]


@each("name", a_third(LABS))
def test_every_solution_is_judged_as_the_lab_declares(name: str) -> None:
    """For one of fifty students; `python -m tests.classroom.campaign`: for all of them."""
    drawn = [str(1 + number) for number in drawn_numbers(name, 1, 50)]
    found = trials((FOLDER / name).read_text(), name, drawn)
    assert [f"{trial.name}: {trial.wrong}" for trial in found if trial.wrong] == []


def test_the_lab_to_begin_with_passes() -> None:
    assert wrong(TEMPLATE, 4) == []


def test_a_goal_that_is_too_hard_or_too_easy_is_found() -> None:
    hard = wrong(TEMPLATE.replace('B.mr0[0:5] == "hello"', 'B.mr0[0:5] == "hullo"'))
    assert hard[0].startswith("receive-first, student 1: it must pass, and is graded; deliver: ")
    assert len(hard) == 4  # three, and the one that makes objects under other names
    easy = wrong(TEMPLATE.replace("B.cq0.total(status=SUCCESS, byte_len=${size}) >= 1", "1 == 1"))
    assert "a-write-instead, student 1: it must not pass, and gets all points" in easy
    cause = wrong(TEMPLATE.replace("cause: rnr-infinite", "cause: loss"))
    assert cause == ["no-receive, student 1: deliver must fail by loss, and why names rnr-infinite"]


def test_a_lab_that_hangs_on_a_name_is_found() -> None:
    text = TEMPLATE.replace(
        "- B.cq0.total(status", "- B.qp5.state == RTS\n      - B.cq0.total(status"
    )
    assert any("new-queue-pair, student 1, objects renamed" in each for each in wrong(text))


def test_objects_are_renamed_wherever_they_stand() -> None:
    lines = [
        "create_qp A.qp5 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0",
        "post_recv qp5 sg=A.mr0[0:8]; show A.qp55",
        "program A.tx lines={ post_send A.qp5 opcode=SEND }",
    ]
    assert renamed(lines) == [
        "create_qp A.other_qp5 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0",
        "post_recv other_qp5 sg=A.mr0[0:8]; show A.qp55",
        "program A.other_tx lines={ post_send A.other_qp5 opcode=SEND }",
    ]


HELD = """\
  - {id: a, points: 1, vary: {held: [1]}, goal: [A.qp0.state == RTS]}
  - {id: b, points: 1, hidden: true, announce: x, vary: {held: [1, 9]}, goal: [A.cq0.count == 0]}
"""
NAMED = "  - use rc_pair\n  - write A.mr0[0:1] '%{held}'\n"


def vary_mistakes(tasks: str, setup: str = NAMED) -> list[str]:
    text = text_of(tasks, "params: {held: {choose: [1]}}\n").replace("  - use rc_pair\n", setup)
    return [f"{e.message}; {e.hint}" for e in vary_errors(loaded(text))]


def test_a_name_of_vary_must_be_used_and_have_a_value_for_students() -> None:
    assert vary_mistakes(HELD) == []
    assert vary_mistakes(HELD.replace("held", "seed"), "  - use rc_pair\n") == []
    hint = "write %{held} in setup, programs or link"
    unused = f"nothing names %{{held}}; {hint}"
    assert vary_mistakes(HELD, "  - use rc_pair\n") == [unused] * 2
    dollar = vary_mistakes(HELD, NAMED.replace("%{", "${"))
    assert dollar == [f"{unused}, where ${{held}} stands"] * 2
    assert vary_mistakes(HELD.replace("vary: {held: [1]}, ", "")) == [
        "only hidden tasks vary held, so students have no value of it; "
        "add vary: {held: [1]} to a task that is shown"
    ]
    goal = HELD.replace("A.cq0.count == 0", '"A.cq0.count < %{held}"')
    assert vary_mistakes(goal, "  - use rc_pair\n") == []


def test_a_lock_on_a_name_that_nothing_has_is_a_warning() -> None:
    tasks = "  - id: a\n    ask: x\n    goal: [now >= 0]\n"
    locked = loaded(text_of(tasks, "rules: {lock: [B.mr7, A, C, B.qp0]}\n"))
    first, second = idle_locks(locked)
    assert first == (
        "nothing is called B.mr7 after the setup, and lock keeps it from being made; "
        "did you mean B.mr0?"
    )
    assert second.startswith("nothing is called C after the setup")
    for name in LABS:
        assert idle_locks(loaded((FOLDER / name).read_text())) == []
