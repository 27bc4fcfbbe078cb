"""The form of a kept session follows its name and its length; a cut of it is a scenario."""

from pathlib import Path

import pytest

from rdmalab.scenario import saving
from rdmalab.scenario.keeping import kept
from rdmalab.scenario.saving import Cut, Expect, Unsavable
from tests.digest import digest
from tests.scenario.test_recorded_calls import again, session


def test_the_form_is_that_of_the_name_and_a_long_session_is_packed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = session()
    files = ["x", "x.rdmalab.yaml", "x.yaml", "x.rdmalab", "sub/x.rdmalab"]
    found = [(made.file, made.kind, made.note) for made in (kept(before, file) for file in files)]
    scenario, packed = ("scenario", ""), ("session file", "")
    assert found == list(zip(files, *zip(*[scenario] * 3 + [packed] * 2, strict=True), strict=True))
    monkeypatch.setattr(saving, "MAX_STEPS", 5)
    for file in files[:3]:
        made = kept(before, file)
        assert (made.file, made.kind) == ("x.rdmalab", "session file")
        assert "a scenario has at most 5" in made.note
    with pytest.raises(Unsavable, match="at most 5"):
        kept(before, "x", expect=Expect.ALL)


def test_each_call_has_its_time_and_no_run_before_it(tmp_path: Path) -> None:
    before = session()
    made = kept(before, "x.rdmalab.yaml", timed=True)
    text = made.octets.decode()
    assert "  - do: poll_cq A.cq0 num_entries=4\n    name: packets and device events\n" in text
    assert "    at: 9us\n" in text
    assert text.count("run:") == 2  # events of the last instant that came after a call; the end
    assert made.steps < kept(before, "x.rdmalab.yaml").steps
    runner = again(tmp_path, made.octets, "x.rdmalab.yaml")
    assert runner.ok, runner.results[-1].text("x")
    assert digest(runner.session.world.trace) == digest(before.world.trace)


@pytest.mark.parametrize(("first", "last"), [(13, 20), (None, 17), (18, None), (0, 0), (14, 14)])
def test_a_cut_is_a_scenario_that_begins_and_ends_there(
    tmp_path: Path, first: int | None, last: int | None
) -> None:
    before = session()
    cut = kept(before, "x.rdmalab.yaml", cut=Cut(first, last), timed=True)
    runner = again(tmp_path, cut.octets, "x.rdmalab.yaml")
    assert runner.ok, runner.results[-1].text("x")
    world, end = runner.session.world, before.world.event if last is None else last
    assert world.event == end
    begun = [result.event for result in runner.results if result.step.is_setup]
    assert begun[-1:] == ([first - 1] if first else [])
    records = before.world.trace.records
    count = len(world.trace.records)
    assert list(world.trace.records) == list(records[:count])


def test_a_cut_that_begins_later_has_no_session_file() -> None:
    with pytest.raises(Unsavable, match=r"name it x\.rdmalab\.yaml"):
        kept(session(), "x.rdmalab", cut=Cut(13, 20))
