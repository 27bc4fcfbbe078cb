"""What is found on the shelf, whatever became of the files; what is offered, and what goes."""

import json
import os
import time
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdmalab.lab import Lab
from rdmalab.recovery import recovered_sessions
from rdmalab.recovery.recovered_sessions import (
    KEPT,
    SAID,
    LoggedLine,
    Reread,
    described,
    lines_again,
    offer,
    read,
    taken,
    volumes,
    waiting,
)
from rdmalab.recovery.write_ahead_log import (
    MOMENT,
    SUFFIX,
    LoggedArrival,
    LoggedMoment,
    LogHeader,
    NullLog,
    fingerprint,
)
from tests.each import examples
from tests.logs import HEAD, opened

THERE = LoggedMoment(0, 0)


def written(folder: Path, *lines: str, age_s: int = 0, left: bool = False) -> Path:
    """A diary whose process is gone."""
    log = opened(folder)
    for line in lines:
        log.typed(line)
        log.ended(THERE, 1)
    path = log.file
    assert path is not None
    log.leave() if left else log.close()
    return dated(path, 10**9 - age_s)


def dated(path: Path, at_s: int) -> Path:
    """The same diary, as if it had been begun and written at this time."""
    moment = time.strftime(MOMENT, time.gmtime(at_s))
    path = path.rename(path.with_name(f"{moment}-{next(_NUMBER)}{SUFFIX}"))
    os.utime(path, (at_s, at_s))
    return path


_NUMBER = count()


# --------------------------------------------------------------------------- reading
def octets(*records: Any) -> bytes:
    head = {"rdmalab": 1, "nodes": HEAD.nodes, "seed": 0, "begin": ["run"]}
    return b"".join(json.dumps(record).encode() + b"\n" for record in (head, *records))


def test_all_that_was_written_is_read(tmp_path: Path) -> None:
    log = opened(tmp_path, LogHeader({"A": "rxe", "B": "mlx5"}, 5, ("use rc_pair",)))
    log.typed("load x; run")
    log.loaded("/x", "text")
    log.arrived(LoggedArrival(LoggedMoment(4, 50), False))
    log.arrived(LoggedArrival(LoggedMoment(9, 99), True))
    log.ended(LoggedMoment(9, 99), 2)
    log.typed("step", again=True)
    assert log.file is not None
    book = read(log.file.read_bytes())
    assert book is not None
    assert book.head == log.head
    arrivals = [LoggedArrival(LoggedMoment(4, 50), False), LoggedArrival(LoggedMoment(9, 99), True)]
    loads = [("/x", shelf_print("text"))]
    assert book.lines == [
        LoggedLine("load x; run", False, arrivals, loads, LoggedMoment(9, 99), 2),
        LoggedLine("step", again=True),
    ]
    assert book.is_cut_off


def shelf_print(text: str) -> str:
    from hashlib import sha256

    return sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("cut", range(1, 40))
def test_a_torn_line_is_cut_off(cut: int) -> None:
    whole = octets({"typed": "a"}, {"ended": [0, 0], "commands": 1})
    torn = whole + octets({"typed": "b" * 40}).splitlines(keepends=True)[1][:cut]
    book = read(torn)
    assert book is not None
    assert [line.text for line in book.lines] == ["a"]
    assert book.octets == len(whole)


def test_what_a_later_version_adds_is_passed_over() -> None:
    book = read(octets({"typed": "a"}, {"mood": "good"}, {"typed": "b"}))
    assert book is not None
    assert [line.text for line in book.lines] == ["a", "b"]


@pytest.mark.parametrize(
    "head",
    [
        {}, [], 1, None,
        {"rdmalab": 2, "nodes": HEAD.nodes, "seed": 0, "begin": []},
        {"rdmalab": 1, "nodes": {"A": "strict"}, "seed": 0, "begin": []},
        {"rdmalab": 1, "nodes": {"A": "strict", "B": "connectx9"}, "seed": 0, "begin": []},
        {"rdmalab": 1, "nodes": {"A": "strict", "B": []}, "seed": 0, "begin": []},
        {"rdmalab": 1, "nodes": HEAD.nodes, "seed": float("inf"), "begin": []},
        {"rdmalab": 1, "nodes": HEAD.nodes, "seed": 0, "begin": [1]},
    ],
)  # fmt: skip
def test_what_is_no_diary(head: Any) -> None:
    assert read(json.dumps(head).encode() + b"\n") is None


_KEYS = st.sampled_from(
    ["typed", "again", "arrived", "stopped", "loaded", "sha256", "ended", "commands", "left",
     "offered", "draft", "whole", "rdmalab", "nodes", "seed", "begin"]
)  # fmt: skip
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=examples(300))
@given(st.lists(st.dictionaries(_KEYS, _JSON, max_size=3), max_size=5), st.binary(max_size=9))
def test_no_damage_is_a_traceback(records: list[Any], tail: bytes) -> None:
    book = read(octets(*records) + tail)
    assert book is not None
    read(tail)
    for line in book.lines:
        assert isinstance(line.text, str)
        assert line.end is None or all(type(number) is int for number in line.end)


# --------------------------------------------------------------------------- waiting
def test_the_session_used_last_is_the_first_one_however_it_ended(tmp_path: Path) -> None:
    first, last = [written(tmp_path, "step", age_s=age, left=True) for age in (4, 1)]
    cut = [written(tmp_path, "step", age_s=age) for age in (2, 3)]
    assert waiting(tmp_path) == [last, *cut, first]


def test_what_continue_restores_is_described_in_the_same_order(tmp_path: Path) -> None:
    written(tmp_path, "step", age_s=4, left=True)
    written(tmp_path, "use rc_pair", "run 1ms", age_s=1)
    newer, older = described(tmp_path)
    assert newer.endswith(", 2 lines, the last: run 1ms")
    assert older.endswith(", 1 line, the last: step")


def test_a_session_in_use_is_not_offered(tmp_path: Path) -> None:
    log = opened(tmp_path)
    log.typed("step")
    assert waiting(tmp_path) == []
    assert log.file is not None
    assert taken(log.file) is None
    log.close()
    (path,) = waiting(tmp_path)
    volume = taken(path)
    assert volume is not None
    assert waiting(tmp_path) == []
    volume.close()
    assert taken(tmp_path / "gone") is None


def test_drafts_and_strange_files_do_not_wait(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_bytes(b"\xff\n")
    (tmp_path / "y.jsonl").touch()
    (tmp_path / "z.jsonl").write_bytes(octets())
    log = opened(tmp_path)
    log.start_over(HEAD)
    log.typed("step")
    log.close()
    assert waiting(tmp_path) == []
    assert offer(tmp_path) == ""
    assert waiting(tmp_path / "none") == []


def test_what_is_no_regular_file_is_not_read(tmp_path: Path) -> None:
    (tmp_path / f"device{SUFFIX}").symlink_to(os.devnull)
    os.mkfifo(tmp_path / f"fifo{SUFFIX}")
    assert not list(volumes(tmp_path))
    assert all(taken(path) is None for path in tmp_path.iterdir())
    assert offer(tmp_path) == ""


# --------------------------------------------------------------------------- offering
def test_what_was_left_is_not_spoken_of(tmp_path: Path) -> None:
    written(tmp_path, "step", left=True)
    assert offer(tmp_path) == ""


def test_what_was_cut_off_is_spoken_of_three_times(tmp_path: Path) -> None:
    path = written(tmp_path, "step", "step")
    lines = [offer(tmp_path) for _ in range(SAID + 1)]
    assert lines[0].startswith(
        "A session of 2 lines was interrupted: continue restores it. (2001-09-0"
    )
    assert lines[1:] == [lines[0]] * (SAID - 1) + [""]
    assert waiting(tmp_path) == [path]
    book = read(path.read_bytes())
    assert book is not None
    assert book.offered == SAID


def test_several_are_counted(tmp_path: Path) -> None:
    for age in (3, 2, 1):
        written(tmp_path, *["step"] * age, age_s=age)
    answer = offer(tmp_path)
    assert answer.startswith("A session of 1 line was interrupted")
    assert answer.endswith(") There are 3: continue 1 to 3.")


def test_the_number_that_is_offered_counts_those_that_were_left(tmp_path: Path) -> None:
    written(tmp_path, "step", "step", left=True)
    written(tmp_path, "step", age_s=1)
    assert "A session of 1 line was interrupted: continue 2 restores it." in offer(tmp_path)
    for age in (2, 5):
        written(tmp_path, "step", "step", "step", age_s=age)
    for age in (3, 4):
        written(tmp_path, "step", age_s=age, left=True)
    answer = offer(tmp_path)
    assert answer.startswith("A session of 3 lines was interrupted: continue 3 restores it.")
    assert answer.endswith(") There are 3: continue 2 to 3, 6.")


def test_the_offered_mark_replaces_a_torn_line(tmp_path: Path) -> None:
    path = written(tmp_path, "step")
    before = path.read_bytes()
    path.write_bytes(before + b'{"typed":"to')
    offer(tmp_path)
    assert path.read_bytes() == before + b'{"offered":true}\n'


# --------------------------------------------------------------------------- pruning
def test_old_ones_go_and_never_one_that_was_not_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recovered_sessions, "KEPT", 3)
    newest = [written(tmp_path, "step", age_s=age, left=True) for age in (1, 2, 3)]
    cut = [written(tmp_path, "step", age_s=age) for age in (4, 5)]
    written(tmp_path, "step", age_s=6, left=True)
    (tmp_path / "other.txt").touch()
    offer(tmp_path)
    assert {volume.path for volume in volumes(tmp_path)} == {*newest, *cut}
    offer(tmp_path)
    assert {volume.path for volume in volumes(tmp_path)} == {*newest, cut[1]}
    for _ in range(SAID):
        offer(tmp_path)
    assert {volume.path for volume in volumes(tmp_path)} == set(newest)
    assert (tmp_path / "other.txt").exists()
    assert KEPT == 20


def test_a_living_one_is_never_pruned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovered_sessions, "KEPT", 0)
    log = opened(tmp_path)
    log.typed("step")
    offer(tmp_path)
    assert log.file is not None
    assert log.file.exists()


def test_no_offer_from_an_unreadable_directory(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert offer(tmp_path / "file") == ""


def test_each_of_many_is_spoken_of_before_it_goes(tmp_path: Path) -> None:
    paths = [written(tmp_path, "step", age_s=age) for age in range(KEPT + 15)]
    for number in range(1, len(paths) + 1):
        word = "continue" if number == 1 else f"continue {number}"
        before = set(waiting(tmp_path))
        assert set(paths[number - 1 :]) <= before
        answer = offer(tmp_path)
        found = waiting(tmp_path).index(paths[number - 1]) + 1
        assert (
            f"interrupted: {'continue' if found == 1 else f'continue {found}'} restores" in answer
        ), word
    offer(tmp_path)
    assert len(waiting(tmp_path)) == KEPT


@pytest.mark.parametrize("shift_s", [10**9, -(10**8)])
def test_a_date_that_cannot_be_does_not_count(tmp_path: Path, shift_s: int) -> None:
    now = int(time.time())
    newer = dated(written(tmp_path, "step"), now - 50)
    older = dated(written(tmp_path, "step"), now - 100)
    wrong = older if shift_s > 0 else newer
    os.utime(wrong, (now + shift_s, now + shift_s))
    assert waiting(tmp_path) == [newer, older]


# --------------------------------------------------------------------------- run again
def test_the_commands_of_a_line_that_run_again() -> None:
    session = Lab().session

    def again(text: str, commands: int | None = None) -> tuple[str, bool]:
        return lines_again(session, LoggedLine(text, commands=commands))

    assert again("step; show; run # x") == ("step\nrun", False)
    assert again("step; show; run", 2) == ("step", False)
    assert again("load x") == ("load x", True)
    assert again("frobnicate") == ("", False)


def test_a_line_read_again_knows_its_arrivals_and_then_halts() -> None:
    there = LoggedArrival(LoggedMoment(1, 2), False)
    line = LoggedLine("load x; run", False, [there], [("/x", fingerprint("text"))])
    reread = Reread(line, NullLog(), may_go_on=False)
    assert reread.path("x") == "/x"
    assert reread.loaded("/x", "text") == ""
    assert reread.path("y") == "y"
    assert reread.known() == there
    assert not reread.halted
    assert reread.known() == LoggedArrival(LoggedMoment(-1, 0), True)
    assert reread.halted
    assert Reread(LoggedLine("next"), NullLog(), may_go_on=True).known() is None
