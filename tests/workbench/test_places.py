from pathlib import Path

import pytest

from rdmalab.workbench.places import state_path


def test_the_directory_is_the_users_own_and_exists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "not" / "yet"))
    monkeypatch.setenv("HOME", str(tmp_path))
    path = state_path()
    assert path.is_dir()
    assert tmp_path in path.parents
    assert state_path() == path
