"""Lab files: what is drawn and varied, and every mistake at its place."""

import pytest

from rdmalab.classroom.lab_file import is_lab, worlds
from rdmalab.scenario.source import FileError
from tests.classroom.labs import TEMPLATE, loaded, text_of
from tests.each import each

TASK = "  - {id: a, points: 1, ask: q, goal: [A.cq0.count == 0]}\n"


def wrong(text: str) -> list[str]:
    with pytest.raises(FileError) as caught:
        loaded(text)
    return [f"{e.place.line if e.place else 0}: {e.message}" for e in caught.value.all]


@each(
    "tasks, complaint",
    [
        ("  - {id: a, points: 1}\n", "8: this task asks nothing"),
        ("  - {id: a, goal: [A.cq0.count ==]}\n", "8: a name or a value is missing here"),
        ("  - {id: a, goal: [{never: A.cq0.cnt == 1, ever: B}]}\n", "a goal has one kind"),
        ("  - {id: a, goal: [{never: A.cq0.cnt == 1}]}\n", "cnt"),
        ("  - {id: a, goal: [A.cq0.last.status == SUCESS]}\n", "SUCESS"),
        ("  - {id: a, goal: [A.qp0.state == RTZ]}\n", "RTZ"),
        ("  - {id: a, goal: [{never: A, by: 1us}]}\n", "by goes with ever only"),
        ("  - {id: a, goal: [A.cq0.count == 0], anwser: 1}\n", 'no key "anwser" here'),
        ("  - {id: a, choice: [{text: x}, {text: y}]}\n", "one choice is right"),
        (
            "  - id: a\n    choice: [{text: x, right: yes}, {text: y}]\n",
            "true or false is required here",
        ),
        ("  - {id: a, hidden: true, goal: [A.cq0.count == 0]}\n", "a hidden task is announced"),
        (f"{TASK}  - {{id: a, goal: [A.cq0.count == 0]}}\n", "two tasks have the id a"),
        ("  - {id: a, needs: [b], goal: [A.cq0.count == 0]}\n", "a needs b, which is no task"),
        ("  - {id: a, answer: A.cq0.count, bind: {q: A}}\n", "bind goes with goal only"),
        ("  - {id: a, goal: [A.cq0.count == 0], vary: {x: 3}}\n", "is not a range"),
        ("  - {id: a, goal: ['%{q}.state == RTS']}\n", "no parameter"),
        ("  - {id: a, goal: [A.cq0.count == 0], try: [post_sned A.qp0]}\n", "no verb"),
        ("  - {id: a, goal: [A.cq0.count == 0], points: many}\n", "many"),
    ],
)
def test_a_mistake_is_named(tasks: str, complaint: str) -> None:
    found = wrong(text_of(tasks))
    assert any(complaint in each for each in found), found


def test_all_mistakes_of_a_file_are_reported() -> None:
    text = text_of("  - {id: a, goal: [A.cq0.count ==], bind: {q: A..b}}\n").replace(
        "use rc_pair", "usee rc_pair"
    )
    assert len(wrong(text)) == 3


def test_a_lab_is_no_scenario_and_has_no_steps() -> None:
    assert "a lab has no steps" in wrong(text_of(TASK) + "steps:\n  - run\n")[0]
    assert is_lab(TEMPLATE)
    assert not is_lab("rdmalab: 1\ntitle: t\nsteps: []\n")


def test_parameters_are_drawn_and_substituted() -> None:
    sizes = {loaded(TEMPLATE, student).params["size"] for student in "abcdefgh"}
    assert sizes == {"16", "32", "64"}
    lab = loaded(TEMPLATE, "a")
    assert lab.params["size"] in str(lab.document.about)
    assert "${" not in str(lab.document.model_dump())


def test_a_world_has_its_values_and_its_seed() -> None:
    tasks = "  - {id: a, goal: [A.cq0.count == 0], vary: {late: [1us, 5us], seed: 3..4}}\n"
    text = text_of(tasks, "link: {latency: '%{late}'}\n")
    first, other = loaded(text), loaded(text, world={"late": "5us", "seed": "4"})
    assert (first.scenario.document.link.latency, first.document.seed) == (1_000, 3)
    assert (other.scenario.document.link.latency, other.document.seed) == (5_000, 4)
    assert len(worlds(first.document.tasks[0])) == 4
    assert worlds(loaded(text_of(TASK)).document.tasks[0]) == [{}]
