from pathlib import Path

from rdmalab.shell.scenario_files import scenario_files


def test_scenarios_below_with_their_titles(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "one.rdmalab.yaml").write_text("rdmalab: 1\ntitle: 'A title'\n")
    (tmp_path / "two.rdmalab.yaml").write_bytes(b"\xff\xfe")
    (tmp_path / "three.yaml").write_text("title: no scenario")
    found = list(scenario_files(tmp_path))
    assert found == [("deep/er/one.rdmalab.yaml", "A title"), ("two.rdmalab.yaml", "")]
