"""Each failure of a real person that the lab can play is a scenario, and says whose it was."""

import json
from functools import cache
from pathlib import Path
from typing import NamedTuple

from rdmalab.scenario.files import SUFFIX
from rdmalab.scenario.loader import Scenario, load
from rdmalab.vocabulary import VOCABULARY
from tests.each import each

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "scenarios/real"


class Case(NamedTuple):
    """A failure: its name, and where it is told."""

    id: str
    source: str


_ROWS = json.loads((ROOT / "tests/data/real_cases.json").read_text("utf-8"))
CASES = [Case(**row) for row in _ROWS]


@cache
def played(case: Case) -> Scenario:
    return load(str(FOLDER / f"{case.id}{SUFFIX}"), VOCABULARY)


def test_all_of_them_are_there_and_no_other() -> None:
    there = {path.name.removesuffix(SUFFIX) for path in FOLDER.iterdir()}
    assert there == {case.id for case in CASES}
    assert len(CASES) == 35


@each("case", CASES)
def test_it_says_who_saw_what_and_why(case: Case) -> None:
    document = played(case).document
    about = " ".join((document.about or "").split())
    assert all(word in about for word in case.source.split())
    owner, repository = case.source.removeprefix("https://github.com/").split()[0].split("/")[:2]
    assert about.startswith(f"{owner}/{repository},")
    assert about.index("Seen: ") < about.index("Cause: ") < about.index("Cure: ")
    assert "real" in document.tags


@each("case", CASES)
def test_it_shows_the_symptom_and_then_the_cure(case: Case) -> None:
    """The step with an id is the symptom; something is expected of it, and of a later step."""
    steps = played(case).steps
    judged = [bool(step.expect or step.wire or step.errno) for step in steps]
    shown = [at for at, step in enumerate(steps) if step.step.id]
    assert shown
    assert judged[shown[0]]
    assert any(judged[shown[0] + 1 :])
