"""Every root cause of the checklist: found in its scenario, also in disguise, and cured there."""

from functools import cache
from pathlib import Path

import pytest

from rdmalab.doctor.diagnosis.diagnose import CHECKS
from rdmalab.lab import open_session
from rdmalab.scenario.files import SUFFIX
from rdmalab.scenario.loader import Scenario, load
from rdmalab.scenario.result import Stop
from rdmalab.scenario.runner import Runner
from rdmalab.vocabulary import VOCABULARY
from tests.doctor.masks import asked, disguised, judge
from tests.each import a_third, each

FOLDER = Path(__file__).parents[2] / "scenarios" / "why"
FILES = sorted(path.name for path in FOLDER.glob(f"*{SUFFIX}"))


@cache
def loaded(file: str) -> Scenario:
    return load(str(FOLDER / file), VOCABULARY)


@pytest.mark.parametrize("file", a_third(FILES))
def test_root_cause_with_other_names_and_pairs(file: str) -> None:
    scenario = loaded(file)
    (step,) = asked(scenario)
    session, mask = disguised(scenario)
    try:
        judge(session, step, mask.line)
    except Stop as wrong:
        pytest.fail("\n".join([wrong.failure.what, *wrong.failure.lines]))


@each("check", CHECKS)
def test_every_suspicion_has_a_scenario(check: object) -> None:
    slug = check.slug  # type: ignore[attr-defined]
    steps = [step.step for file in FILES for step in asked(loaded(file))]
    assert any(slug in (step.cause, step.station) for step in steps)


@pytest.mark.parametrize("file", a_third(FILES))
def test_a_consultation_leaves_no_trace(file: str) -> None:
    """Whoever asked and whoever did not see the same world, and the same past."""
    runner = Runner(loaded(file), open_session)
    while (step := runner.coming) is not None and step.step.why is None:
        runner.next_step()
    session = runner.session
    before = (session.history.here, session.history.live, list(session.world.trace.records))
    branches = dict(session.history.branches)
    runner.next_step()
    after = (session.history.here, session.history.live, list(session.world.trace.records))
    assert before == after
    assert session.history.branches == branches
