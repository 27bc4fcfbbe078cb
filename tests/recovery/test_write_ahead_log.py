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
from tests.diaries import opened

NOTHING = "nothing is kept of this session"
HEAD = LogHeader({"A": "strict", "B": "rxe"}, 7, ("use rc_pair",))
THERE = LoggedMoment(3, 1000)


def records(diary: WriteAheadLog) -> list[dict[str, Any]]:
    assert diary.file is not None
    return [json.loads(line) for line in diary.file.read_bytes().splitlines()]


def test_no_file_before_the_first_line(tmp_path: Path) -> None:
    diary = opened(tmp_path / "new" / "folder", HEAD)
    diary.arrived(LoggedArrival(THERE, True))
    diary.ended(THERE, 1)
    diary.leave()
    assert list(tmp_path.iterdir()) == []


def test_what_is_written(tmp_path: Path) -> None:
    diary = opened(tmp_path, HEAD)
    diary.typed("run; run")
    head = {"rdmalab": 1, "version": VERSION, "nodes": HEAD.nodes, "seed": 7}
    assert records(diary) == [head | {"begin": ["use rc_pair"]}, {"typed": "run; run"}]
    diary.arrived(LoggedArrival(THERE, False))
    diary.arrived(LoggedArrival(THERE, True))
    diary.ended(THERE, 2)
    diary.typed("bad\u2028\n", again=True)
    assert diary.loaded(str(tmp_path / "x" / ".." / "y"), "text") == ""
    assert records(diary)[2:] == [
        {"arrived": [3, 1000]},
        {"arrived": [3, 1000], "stopped": True},
        {"ended": [3, 1000], "commands": 2},
        {"typed": "bad\u2028\n", "again": True},
        {"loaded": str(tmp_path / "y"), "sha256": fingerprint("text")},
    ]
    path = diary.file
    diary.leave()
    assert path is not None
    assert path.read_bytes().endswith(b'\n{"left":true}\n')


def test_a_typed_line_and_a_stopped_run_are_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    diary = opened(tmp_path, HEAD)
    monkeypatch.setattr(os, "fsync", lambda _fd: synced.append(len(records(diary))))
    diary.typed("run")
    diary.arrived(LoggedArrival(THERE, False))
    diary.arrived(LoggedArrival(THERE, True))
    diary.ended(THERE, 1)
    assert synced == [2, 4]


def test_two_diaries_of_one_moment_are_two_files(tmp_path: Path) -> None:
    diaries = [opened(tmp_path, HEAD) for _ in range(3)]
    for number, diary in enumerate(diaries):
        diary.typed(f"step {number}")
    assert len(list(tmp_path.iterdir())) == 3
    assert [records(diary)[1]["typed"] for diary in diaries] == ["step 0", "step 1", "step 2"]


def test_where_nothing_can_be_written_it_says_so_once(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    diary = opened(tmp_path / "file" / "sessions", HEAD)
    assert diary.trouble() == ""
    diary.typed("step")
    assert diary.trouble() == f"{NOTHING}: {os.strerror(errno.ENOTDIR)}"
    diary.typed("step")
    diary.ended(THERE, 1)
    diary.leave()
    assert diary.trouble() == ""


@pytest.mark.parametrize("comes_back", [False, True])
def test_a_file_that_is_removed_ends_it_and_that_is_told_once(
    tmp_path: Path, comes_back: bool
) -> None:
    diary = opened(tmp_path / "sessions", HEAD)
    diary.typed("step")
    assert diary.file is not None
    diary.file.unlink()
    if comes_back:
        diary.file.touch()
    else:
        diary.file.parent.rmdir()
    diary.report("the history of lines is not kept: why")
    diary.typed("step")
    assert diary.trouble().startswith(f"{NOTHING}: ")
    diary.typed("step")
    diary.report("the history of lines is not kept: why")
    assert diary.trouble() == ""


def test_it_tells_what_else_is_not_kept(tmp_path: Path) -> None:
    diary = opened(tmp_path, HEAD)
    diary.report("the history of lines is not kept: why")
    diary.typed("step")
    assert diary.trouble() == "the history of lines is not kept: why"
    assert diary.trouble() == ""


class Full(io.RawIOBase):
    """A disk without room."""

    def write(self, _octets: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_ends_it(tmp_path: Path) -> None:
    diary = opened(tmp_path, HEAD)
    diary.typed("step")
    diary.close()
    diary._stream = Full()  # type: ignore[assignment]
    diary.ended(THERE, 1)
    diary.typed("step")
    assert diary.trouble() == f"{NOTHING}: {os.strerror(errno.ENOSPC)}"
    assert diary.file is None


def test_a_session_brought_back_is_a_draft_until_it_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    diary = opened(tmp_path, HEAD)
    diary.typed("alloc_pd A.pd0")
    first = diary.file
    diary.start_over(LogHeader({"A": "strict", "B": "strict"}))
    assert first is not None
    assert first.read_bytes().endswith(b'{"left":true}\n')
    diary.typed("step")
    diary.ended(THERE, 1)
    assert len(synced) == 1
    assert records(diary)[0]["draft"] is True
    diary.whole()
    assert len(synced) == 2
    assert records(diary)[-1] == {"whole": True}
    diary.typed("step")
    assert len(synced) == 3


def test_the_head_of_a_session() -> None:
    lab = Lab(nodes={"A": "strict", "B": "mlx5"}, seed=9)
    assert head_of(lab.session, ("x",)) == LogHeader({"A": "strict", "B": "mlx5"}, 9, ("x",))
    lab.do("alloc_pd A.pd0; run 5ns")
    assert place_of(lab.session) == (0, 5)


def test_an_unkept_diary_knows_nothing() -> None:
    diary = NullLog()
    diary.typed("x")
    diary.arrived(LoggedArrival(THERE, False))
    diary.ended(THERE, 1)
    assert diary.known() is None
    assert (diary.path("x"), diary.loaded("x", "y"), diary.trouble()) == ("x", "", "")
