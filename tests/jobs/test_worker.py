"""One item in a worker: its value, or why it has none."""

import pytest

from rdmalab.jobs import pool
from rdmalab.jobs.limits import Ending, Limits
from tests.jobs.items import work


@pytest.mark.parametrize(
    ("item", "ending", "reason"),
    [
        (3, Ending.DONE, ""),
        ("events", Ending.CUT, "limit of 9 events"),
        ("wrong", Ending.BROKEN, "KeyError"),
    ],
)
def test_an_item(
    item: object, ending: Ending, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "limit_next_item", lambda _: None)
    outcome = pool.done(work, 4, item, Limits(events=9))
    assert (outcome.number, outcome.ending) == (4, ending)
    assert reason in outcome.reason
