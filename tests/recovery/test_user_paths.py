from pathlib import Path

import pytest

from rdmalab.recovery.user_paths import is_locked_now, state_path


def test_the_directory_is_the_users_own_and_exists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RDMALAB_STATE")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "not" / "yet"))
    monkeypatch.setenv("HOME", str(tmp_path))
    path = state_path()
    assert path.is_dir()
    assert tmp_path in path.parents
    assert state_path() == path


def test_another_directory_can_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RDMALAB_STATE", str(tmp_path / "mine"))
    assert state_path() == tmp_path / "mine"
    assert state_path().is_dir()


def test_only_one_has_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "x"
    with path.open("xb") as first:
        assert is_locked_now(first)
        with path.open("r+b") as second:
            assert not is_locked_now(second)
    with path.open("r+b") as third:
        assert is_locked_now(third)
