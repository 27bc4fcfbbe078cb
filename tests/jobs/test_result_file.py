"""Results line by line: whatever a killed process leaves, the whole lines are read again."""

import io
import os
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rdmalab.jobs.result_file import NotResults, Progress, ResultFile, known, line_of
from tests.each import examples


@settings(max_examples=examples(50), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 120))
def test_a_file_torn_anywhere_keeps_its_whole_lines(tmp_path: Path, at: int) -> None:
    path = tmp_path / "x"
    rows = [{"key": f"k{n}", "text": "é\n"} for n in range(4)]
    whole = b"".join(map(line_of, rows))
    path.write_bytes(whole[: min(at, len(whole))])
    before = known(str(path))
    assert list(before) == [f"k{n}" for n in range(path.read_bytes().count(b"\n"))]
    with ResultFile(str(path)) as file:
        file.add({"key": "new"})
    assert known(str(path)) == {**before, "new": {"key": "new"}}


def test_a_result_is_on_the_disk_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[bytes] = []
    path = tmp_path / "x"
    monkeypatch.setattr(os, "fsync", lambda _: synced.append(path.read_bytes()))
    with ResultFile(str(path)) as file:
        file.add({"key": "a"})
        file.add({"key": "b"})
    assert synced[-2:] == [b'{"key": "a"}\n', b'{"key": "a"}\n{"key": "b"}\n']


@pytest.mark.parametrize("text", ["no\n", "[1]\n", '{"a": 1}\n', "3\n"])
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x"
    path.write_text(text)
    with pytest.raises(NotResults, match="choose another name"):
        known(str(path))
    assert known(str(tmp_path / "none")) == {}


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("stream", "shown"), [(Terminal(), 3), (io.StringIO(), 1)])
def test_a_line_now_and_then(
    stream: io.StringIO, shown: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    progress = Progress(stream, 120, "points", done=20)
    for clock[0] in (100.5, 101.5, 101.55, 105.0, 111.0):
        progress.advance("2 cut")
    written = stream.getvalue()
    assert written.count("points") == shown
    assert "25/120 points, 2 cut, 0.455/s, 209 s left" in written
    progress.end()
    assert stream.getvalue().endswith("\r" if shown == 3 else "left\n")
