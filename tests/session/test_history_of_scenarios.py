"""All that a lesson does can be gone back to: every feature there is, in every lesson there is."""

import random
from pathlib import Path
from typing import Any

import pytest

from rdmalab.lab import open_session
from rdmalab.scenario.loader import load
from rdmalab.scenario.runner import Runner
from rdmalab.session import history
from rdmalab.session.session import Session
from rdmalab.vocabulary import VOCABULARY
from tests.each import a_tenth
from tests.labs import still
from tests.spec.record_parts import wrong

SCENARIOS = sorted((Path(__file__).parents[2] / "scenarios").rglob("*.rdmalab.yaml"))
VISITS = 12


def moment(session: Session) -> Any:
    names = session.names
    named = (dict(names.thing_of), dict(names.name_of), set(names.retired))
    return still(session.world), named, session.world.trace.latest


@pytest.mark.parametrize("path", a_tenth(map(str, SCENARIOS)), ids=lambda path: Path(path).name)
def test_a_lesson_is_gone_back_to(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("EVENTS_APART", 2), ("RECENT", 10**6), ("HOT", 10**6)):
        monkeypatch.setattr(history, name, value)
    runner = Runner(load(path, VOCABULARY), open_session)
    session = runner.session
    been: dict[Any, Any] = {}
    while runner.next_step() is not None:
        where, now = (session.history.branch.name, session.history.here), moment(session)
        assert been.setdefault(where, now) == now  # a lesson may come twice to the same moment
    assert wrong(session.world.trace.records) == []
    places = random.Random(Path(path).name).sample(list(been), min(VISITS, len(been)))
    for branch, place in [*places, list(been)[-1]]:
        session.history.switch(session.history.branches[branch])
        session.history.seek(place)
        assert moment(session) == been[branch, place], place
