"""Commands serve and site: what is wrong with its options is said before anything listens."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest

from rdmalab import cli
from rdmalab.classroom.public import published
from tests.classroom.labs import TEMPLATE, loaded

TOUR = Path(__file__).parents[2] / "scenarios/tour.lab.yaml"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--host", "0.0.0.0"], "--host 0.0.0.0 has many names: write one with --name HOST"),
        (["--read-only", "--size", "9x9"], "--size 9x9: write COLUMNSxROWS, such as 120x36, from"),
        (["--read-only", "--size", "120"], "--size 120: write COLUMNSxROWS"),
        (["--read-only", "--size", "400x40"], "from 40x12 to 300x100"),
        (["--port", "65536"], "65536"),
        (["--visitors", "0"], "0"),
    ],
)
def test_options(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("textual_serve", reason="textual-serve is not installed: the extra web")
    assert cli.main(["serve", *options]) == 2
    assert message in capsys.readouterr().err


def test_a_port_that_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("textual_serve", reason="textual-serve is not installed: the extra web")
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert cli.main(["serve", "--port", str(port)]) == 2
    told = capsys.readouterr().err
    assert f"cannot listen at 127.0.0.1, port {port}: " in told
    assert "; --port chooses another one" in told


def test_the_extra_is_named_where_it_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in sys.modules if name.startswith("rdmalab.serve")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    assert cli.main(["serve"]) == 2
    assert 'aiohttp is not installed: pip install "rdmalab[web]"' in capsys.readouterr().err


def test_the_page_is_not_made_with_what_students_must_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def made(*_: object) -> dict[str, bytes]:
        return {"index.html": b"", "files.txt": b"index.html"}

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("rdmalab.page.site.assembled", made)
    for name in ("mine.lab.yaml", "mine.yaml"):
        lab = Path("scenarios", name)
        lab.parent.mkdir(exist_ok=True)
        lab.write_text(TEMPLATE)
        assert cli.main(["site", "public"]) == 2
        told = capsys.readouterr().err
        assert f"{lab} is a file of the instructor" in told
        assert f"rdmalab lab publish {lab} -o handout.lab.yaml" in told
        lab.write_text(TEMPLATE.replace("points: 3", "points: many"))
        assert cli.main(["site", "public"]) == 2
        assert '"many" is not a number' in capsys.readouterr().err
        assert not Path("public").exists()
        lab.write_text(published(loaded(TEMPLATE)))
    Path("scenarios/tour.lab.yaml").write_bytes(TOUR.read_bytes())
    assert cli.main(["site", "public"]) == 0
