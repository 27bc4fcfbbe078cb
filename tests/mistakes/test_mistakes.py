"""A twentieth of the mistakes, drawn by the printed seed: `why` names the root of each."""

from pathlib import Path

import pytest

from rdmalab.doctor.report.brief import MOST_LINES
from tests.doctor import tidying
from tests.doctor.tidying import destroy_all, why
from tests.each import a_twentieth, each
from tests.mistakes.examination import NEW_AREAS
from tests.mistakes.fixes import carried_out
from tests.mistakes.healthy import Healthy, all_healthy
from tests.mistakes.kinds import Profile, kinds
from tests.mistakes.playing import Mistake, all_of, answer_of
from tests.tables import read_table

_MOST_MISSED = 5
MISSED = read_table(Path(__file__).with_name("missed.txt"))


def _sessions() -> list[Mistake]:
    """Of each kind that is right everywhere a twentieth of its sessions."""
    kept = [kind for kind in kinds() if kind.kind not in MISSED and not kind.python]
    found = {mistake.name: mistake for kind in kept for mistake in all_of(kind)}
    return [found[name] for name in a_twentieth(found)]


@pytest.mark.parametrize("mistake", _sessions(), ids=lambda mistake: mistake.name)
def test_the_root_of_a_mistake_is_named_and_its_fix_is_true(mistake: Mistake) -> None:
    answer = answer_of(mistake)
    assert answer.asked_right, answer.asked
    assert answer.plain_right, answer.plain
    assert not answer.fixed, answer.fixed
    assert not answer.bare, answer.bare
    assert not answer.misplaced, answer.misplaced
    assert not answer.gone, answer.gone
    assert not answer.untypable, answer.untypable
    if mistake.kind.area in NEW_AREAS:
        assert answer.code_right, f"exit code {answer.code}"
        assert not answer.untrue, answer.untrue
        assert answer.long <= MOST_LINES, answer.texts


def test_after_a_teardown_the_fix_of_an_overrun_names_nothing_that_was_destroyed() -> None:
    (kind,) = (kind for kind in kinds() if kind.kind == "sleeps-while-the-queue-overran")
    for mistake in all_of(kind):
        assert not answer_of(mistake).gone, mistake.name


@each("lesson", tidying.files())
def test_a_fix_of_a_lesson_that_is_called_working_works(lesson: Path) -> None:
    for session, step in tidying.failed(lesson):
        report = why(session, step.why or "")
        if report.remedy is not None and report.remedy.works:
            assert not carried_out(session, report, alone=False)


@each("well, profile", all_healthy())
def test_a_healthy_session_has_exit_code_0(well: Healthy, profile: Profile) -> None:
    session = well.session(profile)
    questions = {"", well.ask}
    assert not any(why(session, question).is_trouble for question in questions)
    destroy_all(session)
    assert not any(why(session, question).is_trouble for question in questions)


def test_the_tables_are_large_and_what_is_missed_is_a_kind() -> None:
    names = {kind.kind for kind in kinds()}
    structure = {"waiting", "notification", "lifetimes", "threads", "twice", "slow", "pyverbs"}
    assert len(names) >= 230
    newer = [kind for kind in kinds() if kind.area in NEW_AREAS]
    assert len(newer) >= 80
    assert 2 * sum(bool(kind.beside) for kind in newer) >= len(newer)
    assert sum(kind.area in structure for kind in kinds()) >= 75
    assert set(MISSED) <= names
    assert len(MISSED) <= _MOST_MISSED
