"""A tenth of the mistakes, drawn by the printed seed: `why` names the root of each."""

from pathlib import Path

import pytest
import yaml

from tests.each import a_tenth
from tests.mistakes.kinds import kinds
from tests.mistakes.playing import Mistake, all_of, answer_of

_MOST_MISSED = 30
MISSED = yaml.safe_load(Path(__file__).with_name("missed.txt").read_text("utf-8"))


def _sessions() -> list[Mistake]:
    """Of each kind that is right everywhere a tenth of its sessions."""
    found = {each.name: each for kind in kinds() if kind.kind not in MISSED
             for each in all_of(kind) if not kind.python}  # fmt: skip
    return [found[name] for name in a_tenth(found)]


@pytest.mark.parametrize("mistake", _sessions(), ids=lambda mistake: mistake.name)
def test_the_root_of_a_mistake_is_named_and_its_fix_is_true(mistake: Mistake) -> None:
    answer = answer_of(mistake)
    assert answer.asked_right, answer.asked
    assert answer.plain_right, answer.plain
    assert not answer.fixed, answer.fixed


def test_the_tables_are_large_and_what_is_missed_is_a_kind() -> None:
    names = {kind.kind for kind in kinds()}
    structure = {"waiting", "notification", "lifetimes", "threads", "twice", "slow", "pyverbs"}
    assert len(names) >= 150
    assert sum(kind.area in structure for kind in kinds()) >= 75
    assert set(MISSED) <= names
    assert len(MISSED) <= _MOST_MISSED
