import os
from pathlib import Path

import pytest

from rdmalab.lab import Lab
from rdmalab.shell.legal_values import lesson_names, scenario_files
from rdmalab.shell.prompt_setup import choices


def test_scenarios_below_with_their_titles(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "one.rdmalab.yaml").write_text("rdmalab: 1\ntitle: 'A title'\n")
    (tmp_path / "two.rdmalab.yaml").write_bytes(b"\xff\xfe")
    (tmp_path / "three.yaml").write_text("title: no scenario")
    found = list(scenario_files(tmp_path))
    assert found == [("deep/er/one.rdmalab.yaml", "A title"), ("two.rdmalab.yaml", "")]


def test_a_fifo_of_that_name_is_listed_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.rdmalab.yaml")
    assert list(scenario_files(tmp_path)) == [("x.rdmalab.yaml", "")]


def test_the_lessons_are_offered_in_an_empty_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert dict(lesson_names())["err/rnr-retry-exceeded"]
    for line in ("load rnr", "load err/rnr", "load "):
        found, _ = choices(Lab().session, line, len(line))
        assert "err/rnr-retry-exceeded" in [choice.text for choice in found]
