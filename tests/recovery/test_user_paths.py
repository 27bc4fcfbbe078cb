import os
from pathlib import Path
from typing import BinaryIO

import pytest

from rdmalab.recovery.user_paths import (
    ProcessIdentity,
    is_locked_now,
    process_name,
    replace_identity,
    state_path,
)


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


def test_another_identity_names_and_locks_the_files(tmp_path: Path) -> None:
    class Other(ProcessIdentity):
        def name(self) -> str:
            return "tab-7"

        def lock(self, stream: BinaryIO) -> bool:
            return False

    before = replace_identity(Other())
    try:
        assert process_name() == "tab-7"
        with (tmp_path / "x").open("xb") as first:
            assert not is_locked_now(first)
    finally:
        replace_identity(before)
    assert process_name() == str(os.getpid())
