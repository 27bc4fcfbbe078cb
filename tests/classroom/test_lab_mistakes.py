"""All mistakes of a lab at once, each at its place: shape, words, names, tasks, causes."""

import pytest

from rdmalab.classroom.lab_mistakes import mistakes
from tests.classroom.labs import FOLDER, NEW_LAB, TEMPLATE, loaded
from tests.scenario.campaign import LABS, tally_of


def found(text: str) -> list[str]:
    """`LINE message (hint)` of each mistake."""
    errors = mistakes(text, "x.lab.yaml")
    return [f"{e.place.line if e.place else 0} {e.message} ({e.hint})" for e in errors]


def line_of(text: str, part: str) -> int:
    return text[: text.index(part)].count("\n") + 1


def test_labs_have_no_mistakes() -> None:
    for path in sorted(FOLDER.glob("*.lab.yaml")):
        assert mistakes(path.read_text(), str(path)) == [], path
    assert found(NEW_LAB) == []


CHANGES = [
    ("rdmalab: 1", "rdmlab: 1", "the first key is not rdmalab"),
    ("level: 1", "levle: 1", 'no key "levle" here (did you mean level?)'),
    ("params:", "parms:", 'no key "parms" here (did you mean params?)'),
    ("choose: [16, 32, 64]", "chose: [16, 32, 64]", "a parameter of a lab is drawn in one way"),
    ("setup:", "setups:", 'no key "setups" here (did you mean setup?)'),
    ("- use rc_pair", "- ues rc_pair", 'no verb "ues"'),
    ('write A.mr0[0:5] "hello"', 'write A.mr7[0:5] "hello"', "nothing is called A.mr7"),
    ("tasks:", "task:", 'no key "task" here (did you mean tasks?)'),
    ("points: 3", "pionts: 3", 'no key "pionts" here (did you mean points?)'),
    ("points: 3", "points: many", '"many" is not a number'),
    ("right: true", "right: perhaps", "true or false is required here"),
    ('B.mr0[0:5] == "hello"', 'B.mr8[0:5] == "hello"', "nothing is called B.mr8"),
    ("status=SUCCESS, byte_len", "status=SUCESS, byte_len", '"SUCESS" is no completion status'),
    ("rnr-infinite: B has", "rnr-infinte: B has",
     "no cause is called rnr-infinte (did you mean rnr-infinite?)"),
    ("needs: [deliver]", "needs: [delivr]", "both-ways needs delivr, which is no task above it"),
    ("post_recv A.qp0 sg=A.mr0[100:164]", "post_recv A.qp6 sg=A.mr0[100:164]",
     "nothing is called A.qp6"),
    ("answers: {answer-of-b: a}", "answers: {answer-of-a: 1}",
     "no task has the id answer-of-a (did you mean answer-of-b?)"),
    ("answers: {answer-of-b: a}", "answers: {answer-of-b: h}",
     'answer-of-b has no choice "h" (legal: a, b)'),
    ("cause: rnr-infinite", "cause: rnr-never", "no cause is called rnr-never"),
    ("forbid: [use]", "forbid: [use, fil]",
     "rules: forbid: no command is called fil (did you mean fill?)"),
    ("forbid: [use]", "forbid: [post_sned]",
     "rules: forbid: no command is called post_sned (did you mean post_send?)"),
    ("forbid: [use]", "allow: [falt]",
     "rules: allow: no command is called falt (did you mean fault?)"),
    ("aim: A SEND", "aims: A SEND", 'no key "aims" here (did you mean aim?)'),
    ("B.cq0.total(status", "B.cq0.totl(status",
     "B.cq0.totl cannot be called (did you mean B.cq0.total?)"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "wrong"), CHANGES)
def test_a_mistake_is_named_with_its_place(old: str, new: str, wrong: str) -> None:
    text = TEMPLATE.replace(old, new, 1)
    errors = found(text)
    assert any(wrong in each for each in errors), errors


def test_mistakes_of_every_kind_are_reported_together() -> None:
    chosen = [CHANGES[n] for n in (1, 6, 8, 10, 11, 12, 13, 16, 18)]
    text = TEMPLATE
    for old, new, _ in chosen:
        text = text.replace(old, new, 1)
    errors = found(text)
    for _, new, wrong in chosen:
        assert any(wrong in each for each in errors), (wrong, errors)
        assert any(each.startswith(f"{line_of(text, new)} ") for each in errors), (new, errors)


def test_a_key_that_is_given_twice_hides_no_other_mistake_of_its_step() -> None:
    step = "  - {do: use rc_pair, id: a, id: b, within: 5us}\n"
    text = TEMPLATE.replace("setup:\n", f"setup:\n{step}", 1)
    errors = " ".join(found(text))
    assert '"id" is given twice' in errors
    assert "within goes with run only" in errors


@pytest.mark.parametrize(
    ("old", "new", "wrong"),
    [
        ('"%{q}.state ==', '"%{q}.stateq ==', '%{q} has no "stateq" (did you mean state?)'),
        ("%{q}.state == RTS", "%{q}.state == RTQ", '"RTQ" is no QP state (did you mean RTS?)'),
        ("%{q}.peer)", "%{q}.peerq)", '%{q} has no "peerq" (did you mean peer?)'),
        ("any(B.qp.state", "any(B.qp.stat", 'B.qp has no "stat" (did you mean state?)'),
    ],
)
def test_a_goal_with_a_bound_name_is_judged_as_any(old: str, new: str, wrong: str) -> None:
    text = next(path for path in LABS if path.name == "by-hand.lab.yaml").read_text()
    assert text.count(old) == 1
    text = text.replace(old, new)
    assert found(text) == [f"{line_of(text, new)} {wrong}"]


def test_a_lab_for_students_has_no_solutions_to_know_names_from() -> None:
    text = TEMPLATE[: TEMPLATE.index("solutions:")].replace("B.mr0[0:5] ==", "B.mine[0:5] ==")
    assert found(text) == []
    assert loaded(text)


def test_a_setup_that_is_refused_is_a_mistake() -> None:
    text = TEMPLATE.replace("- use rc_pair", "- use rc_pair\n  - modify_qp A.qp0 state=INIT")
    (error,) = found(text)
    assert error.startswith(f"{line_of(text, 'modify_qp')} the setup fails here: EINVAL")


def test_mutated_labs() -> None:
    """The claims of tests/scenario/mutations.py: 60 labs, RDMALAB_ALL=1: 600."""
    result = tally_of("mutated labs", 3, 30, 20, LABS)
    assert not result.wrong
    assert result.complete >= 0.98 * result.several - 2


def test_two_choices_with_one_text_are_a_mistake() -> None:
    text = TEMPLATE.replace("text: An RNR NAK.", "text: Nothing.")
    line = line_of(text, "choice:")
    assert found(text) == [f'{line} two choices have the text "Nothing." (change one)']


def test_a_misspelt_word_of_the_rules_is_marked() -> None:
    text = TEMPLATE.replace("forbid: [use]", "forbid: [use, fil]")
    (wrong,) = mistakes(text, "x.lab.yaml")
    assert wrong.place is not None
    assert text.splitlines()[wrong.place.line - 1][wrong.place.column - 1 :].startswith("fil]")
