"""Command selfcheck: exit codes, rows, the document, and a terminal that answers."""

import json
import sys
from pathlib import Path

import jsonschema
import pytest

from rdmalab import cli
from rdmalab.cli.schemas import schema_of
from rdmalab.cli.selfcheck import CHARACTERS
from tests.terminal import Terminal


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RDMALAB_STATE", str(tmp_path))


def test_an_installation_that_works(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["selfcheck"]) == 0
    answer = capsys.readouterr().out
    assert "✓ textual " in answer
    assert "! terminal         no terminal\n" in answer


def test_the_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["selfcheck", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, schema_of("selfcheck"))
    assert {"terminal", "colours", "clipboard", "python", "lessons"} < {
        row["name"] for row in document["checks"]
    }


def test_something_that_does_not_work_is_exit_code_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("RDMALAB_STATE", str(tmp_path / "file" / "x"))
    monkeypatch.setenv("RDMALAB_ASCII", "1")
    assert cli.main(["selfcheck"]) == 1
    answer = capsys.readouterr().out
    assert answer.isascii()
    assert "\nfailed    state directory" in answer
    assert "export RDMALAB_STATE=DIR" in answer


@pytest.mark.parametrize(("width", "code"), [(1, 0), (2, 1)])
def test_a_terminal_that_draws_characters_wide(width: int, code: int, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "rdmalab", "selfcheck"]
    environment = {"RDMALAB_STATE": str(tmp_path), "COLORTERM": "truecolor"}
    with Terminal(command, env=environment, columns=120, rows=60) as screen:
        screen.wait_until(lambda _rows: b"\x1b[c" in screen.raw)
        places = f"\x1b[1;{width + 1}R" * len(CHARACTERS)
        screen.send(f"{places}\x1b]11;rgb:ffff/ffff/ffff\x1b\\\x1b[?62;52c".encode())
        rows = "\n".join(screen.wait_for("lessons"))
        assert "✓ colours          truecolor" in rows
        assert "✓ background       light" in rows
        assert "✓ clipboard        OSC 52" in rows
        assert ("✓ characters" in rows) == (width == 1)
        assert ("✗ characters       these do not take one column" in rows) == (width == 2)
        assert screen.wait_exit() == code
