import io
from pathlib import Path

import pytest

from rdmalab.lab import Lab
from rdmalab.shell.script import Said, play, said_lines, speaks_unicode


def test_lines_know_their_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "f"
    file.write_text("one\n\ntwo {\n} \n")
    assert list(said_lines(["a"], str(file))) == [
        Said("-c 1", 1, "a"),
        Said(f"{file}:1", 1, "one"),
        Said(f"{file}:3", 3, "two {\n} "),
    ]
    monkeypatch.setattr("sys.stdin", io.StringIO("a\nb {\n}\n\nc"))
    assert [s.place for s in said_lines([], None)] == ["stdin:1", "stdin:2", "stdin:5"]


def test_results_and_talk_go_apart(capsys: pytest.CaptureFixture[str]) -> None:
    lines = iter([Said("x:1", 1, "alloc_pd A.pd0"), Said("x:2", 2, "bad"), Said("x:3", 3, "step")])
    assert play(Lab(), lines, plain=False) == 2
    done = capsys.readouterr()
    assert done.out == "ok [ev 0]  A.pd0 is there.\n"
    assert done.err.startswith("x:2: not understood (nothing happened): no verb")


def test_what_a_stream_can_write() -> None:
    assert speaks_unicode(io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))
    assert not speaks_unicode(io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
