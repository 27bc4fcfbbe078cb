"""What outlives a page: which messages its database gets."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from rdmalab.page.state_files import KeptFile, StateFiles, TabIdentity

if TYPE_CHECKING:
    from pathlib import Path

Message = tuple[str, str, "str | bytes"]


@pytest.fixture
def sent() -> list[Message]:
    return []


@pytest.fixture
def files(tmp_path: Path, sent: list[Message]) -> StateFiles:
    made = StateFiles(tmp_path, lambda *message: sent.append(message))
    made.state.mkdir()
    return made


def test_files_are_kept_whole_or_by_what_they_have_more(
    files: StateFiles, sent: list[Message]
) -> None:
    (files.state / "settings.toml").write_text("a")
    history = files.state / "history"
    history.write_text("one")
    files.look()
    assert sorted(sent) == [
        ("append", ".state/history", b"one"), ("keep", ".state/settings.toml", b"a"),
    ]  # fmt: skip
    sent.clear()
    files.look()
    history.write_text("onetwo")
    (files.state / "settings.toml").unlink()
    files.look()
    assert sent == [("append", ".state/history", b"two"), ("drop", ".state/settings.toml", "")]


def test_a_record_of_the_log_is_sent_once(files: StateFiles, sent: list[Message]) -> None:
    log = files.state / "sessions" / "x.jsonl"
    log.parent.mkdir()
    for record in (b"one\n", b"two\n"):
        files.record(log, record)  # before it is in the file
        with log.open("ab") as stream:
            stream.write(record)
        files.look()
    assert sent == [("append", ".state/sessions/x.jsonl", each) for each in (b"one\n", b"two\n")]
    log.write_bytes(b"other")
    files.look()
    assert sent[2:] == [("keep", ".state/sessions/x.jsonl", b"other")]


def test_what_the_page_has_is_written_and_not_sent_back(
    files: StateFiles, sent: list[Message], tmp_path: Path
) -> None:
    log = KeptFile(b"one", 1_764_000_000_000)
    files.fill({".state/sessions/x.jsonl": log, "mine.rdmalab.yaml": KeptFile(b"two", 5)})
    files.look()
    assert sent == []
    path = tmp_path / ".state/sessions/x.jsonl"
    assert path.read_bytes() == b"one"
    assert path.stat().st_mtime == 1_764_000_000
    date = path.stat().st_mtime_ns
    path.write_bytes(b"one, offered")
    os.utime(path, ns=(date, date))
    files.look()
    assert sent == [("amend", ".state/sessions/x.jsonl", b"one, offered")]
    assert (tmp_path / "mine.rdmalab.yaml").read_bytes() == b"two"


@pytest.mark.parametrize("name", ["../x", "/etc/x", ".state/../../x", ""])
def test_a_name_outside_the_directory_is_left_out(
    name: str, files: StateFiles, tmp_path: Path
) -> None:
    before = sorted(tmp_path.parent.rglob("*"))
    files.fill({name: KeptFile(b"x", 0)})
    assert sorted(tmp_path.parent.rglob("*")) == before


def test_large_files_and_those_of_other_kinds_are_not_kept(
    files: StateFiles, sent: list[Message], tmp_path: Path
) -> None:
    (tmp_path / "run.pcapng").write_bytes(b"x")
    (tmp_path / "large.yaml").write_bytes(bytes(2 << 20))
    files.look()
    assert sent == []


def test_a_tab_locks_a_file_once_until_it_is_closed(tmp_path: Path) -> None:
    tab = TabIdentity("7")
    assert tab.name() == "7"
    path = tmp_path / "x"
    with path.open("xb") as first:
        assert tab.lock(first)
        assert tab.lock(first)
        with path.open("rb") as second:
            assert not tab.lock(second)
    with path.open("rb") as third:
        assert tab.lock(third)
