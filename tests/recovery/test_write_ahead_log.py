"""The diary writes before anything runs, gives up once, and never touches another's file."""

import errno
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

from rdmalab.lab import Lab
from rdmalab.recovery.write_ahead_log import (
    LoggedArrival,
    LoggedMoment,
    LogHeader,
    NullLog,
    WriteAheadLog,
    fingerprint,
    head_of,
    place_of,
)
from rdmalab.version import VERSION
from tests.logs import opened

NOTHING = "nothing is kept of this session"
HEAD = LogHeader({"A": "strict", "B": "rxe"}, 7, ("use rc_pair",))
THERE = LoggedMoment(3, 1000)


def records(log: WriteAheadLog) -> list[dict[str, Any]]:
    assert log.file is not None
    return [json.loads(line) for line in log.file.read_bytes().splitlines()]


def test_no_file_before_the_first_line(tmp_path: Path) -> None:
    log = opened(tmp_path / "new" / "folder", HEAD)
    log.arrived(LoggedArrival(THERE, True))
    log.ended(THERE, 1)
    log.leave()
    assert list(tmp_path.iterdir()) == []


def test_what_is_written(tmp_path: Path) -> None:
    log = opened(tmp_path, HEAD)
    log.typed("run; run")
    head = {"rdmalab": 1, "version": VERSION, "nodes": HEAD.nodes, "seed": 7}
    assert records(log) == [head | {"begin": ["use rc_pair"]}, {"typed": "run; run"}]
    log.arrived(LoggedArrival(THERE, False))
    log.arrived(LoggedArrival(THERE, True))
    log.ended(THERE, 2)
    log.typed("bad\u2028\n", again=True)
    assert log.loaded(str(tmp_path / "x" / ".." / "y"), "text") == ""
    assert records(log)[2:] == [
        {"arrived": [3, 1000]},
        {"arrived": [3, 1000], "stopped": True},
        {"ended": [3, 1000], "commands": 2},
        {"typed": "bad\u2028\n", "again": True},
        {"loaded": str(tmp_path / "y"), "sha256": fingerprint("text")},
    ]
    path = log.file
    log.leave()
    assert path is not None
    assert path.read_bytes().endswith(b'\n{"left":true}\n')


def test_a_typed_line_and_a_stopped_run_are_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    log = opened(tmp_path, HEAD)
    monkeypatch.setattr(os, "fsync", lambda _fd: synced.append(len(records(log))))
    log.typed("run")
    log.arrived(LoggedArrival(THERE, False))
    log.arrived(LoggedArrival(THERE, True))
    log.ended(THERE, 1)
    assert synced == [2, 4]


def test_two_diaries_of_one_moment_are_two_files(tmp_path: Path) -> None:
    diaries = [opened(tmp_path, HEAD) for _ in range(3)]
    for number, log in enumerate(diaries):
        log.typed(f"step {number}")
    assert len(list(tmp_path.iterdir())) == 3
    assert [records(log)[1]["typed"] for log in diaries] == ["step 0", "step 1", "step 2"]


def test_where_nothing_can_be_written_it_says_so_once(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    log = opened(tmp_path / "file" / "sessions", HEAD)
    assert log.trouble() == ""
    log.typed("step")
    assert log.trouble() == f"{NOTHING}: {os.strerror(errno.ENOTDIR)}"
    log.typed("step")
    log.ended(THERE, 1)
    log.leave()
    assert log.trouble() == ""


@pytest.mark.parametrize("comes_back", [False, True])
def test_a_removed_log_file_is_reported_once(tmp_path: Path, comes_back: bool) -> None:
    log = opened(tmp_path / "sessions", HEAD)
    log.typed("step")
    assert log.file is not None
    log.file.unlink()
    if comes_back:
        log.file.touch()
    else:
        log.file.parent.rmdir()
    log.report("the history of lines is not kept: why")
    log.typed("step")
    assert log.trouble().startswith(f"{NOTHING}: ")
    log.typed("step")
    log.report("the history of lines is not kept: why")
    assert log.trouble() == ""


def test_trouble_has_each_report_once(tmp_path: Path) -> None:
    log = opened(tmp_path, HEAD)
    log.report("the history of lines is not kept: why")
    log.typed("step")
    assert log.trouble() == "the history of lines is not kept: why"
    assert log.trouble() == ""


class Full(io.RawIOBase):
    """A disk without room."""

    def write(self, _octets: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_ends_it(tmp_path: Path) -> None:
    log = opened(tmp_path, HEAD)
    log.typed("step")
    log.close()
    log._stream = Full()  # type: ignore[assignment]
    log.ended(THERE, 1)
    log.typed("step")
    assert log.trouble() == f"{NOTHING}: {os.strerror(errno.ENOSPC)}"
    assert log.file is None


def test_a_session_brought_back_is_a_draft_until_it_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    log = opened(tmp_path, HEAD)
    log.typed("alloc_pd A.pd0")
    first = log.file
    log.start_over(LogHeader({"A": "strict", "B": "strict"}))
    assert first is not None
    assert first.read_bytes().endswith(b'{"left":true}\n')
    log.typed("step")
    log.ended(THERE, 1)
    assert len(synced) == 1
    assert records(log)[0]["draft"] is True
    log.whole()
    assert len(synced) == 2
    assert records(log)[-1] == {"whole": True}
    log.typed("step")
    assert len(synced) == 3


def test_the_head_of_a_session() -> None:
    lab = Lab(nodes={"A": "strict", "B": "mlx5"}, seed=9)
    assert head_of(lab.session, ("x",)) == LogHeader({"A": "strict", "B": "mlx5"}, 9, ("x",))
    lab.do("alloc_pd A.pd0; run 5ns")
    assert place_of(lab.session) == (0, 5)


def test_an_unkept_diary_knows_nothing() -> None:
    log = NullLog()
    log.typed("x")
    log.arrived(LoggedArrival(THERE, False))
    log.ended(THERE, 1)
    assert log.known() is None
    assert (log.path("x"), log.loaded("x", "y"), log.trouble()) == ("x", "", "")


def test_a_listener_has_each_record_of_the_file_before_the_line_runs(tmp_path: Path) -> None:
    log = opened(tmp_path, HEAD)
    heard: list[tuple[Path, bytes]] = []
    log.listener = lambda file, octets: heard.append((file, octets))
    log.typed("run")
    assert log.file is not None
    assert json.loads(heard[-1][1]) == {"typed": "run"}
    log.arrived(LoggedArrival(THERE, False))
    log.ended(THERE, 1)
    assert {file for file, _ in heard} == {log.file}
    assert b"".join(octets for _, octets in heard) == log.file.read_bytes()
    file = log.file
    log.leave()
    assert b"".join(octets for _, octets in heard) == file.read_bytes()
