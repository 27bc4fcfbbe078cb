"""Command selfcheck: exit codes, rows, the document, and a terminal that answers."""

import json
import sys
import time
from pathlib import Path

import jsonschema
import pytest

from rdmalab import cli
from rdmalab.cli.schemas import schema_of
from rdmalab.cli.selfcheck import CHARACTERS, TerminalAnswers, answers, ask
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


DARK = "\x1b]11;rgb:1e1e/1e1e/2e2e\x1b\\"
LIGHT = "\x1b]11;rgb:ff/ff/f0\x07"
WHO = "\x1b[?62;22;52c"
_ASKS = "from rdmalab.cli.selfcheck import ask; print('found', ask(['a', '→']))"
PROGRAM = [sys.executable, "-c", _ASKS]


def test_all_answers() -> None:
    found = answers(f"\x1b[3;2R\x1b[3;3R{DARK}{WHO}", ["a", "→"])
    assert found == TerminalAnswers({"a": 1, "→": 2}, False, frozenset({62, 22, 52}))


@pytest.mark.parametrize(
    ("received", "expected"),
    [
        ("", TerminalAnswers({}, None, None)),
        (WHO, TerminalAnswers({}, None, frozenset({62, 22, 52}))),
        (f"\x1b[3;2R{LIGHT}{WHO}", TerminalAnswers({}, True, frozenset({62, 22, 52}))),
        ("\x1b[?c", TerminalAnswers({}, None, frozenset())),
    ],
)
def test_answers_that_are_missing(received: str, expected: TerminalAnswers) -> None:
    assert answers(received, ["a", "→"]) == expected


def test_without_a_terminal_nothing_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(["a"]) is None
    assert capsys.readouterr() == ("", "")


def test_a_terminal_is_asked_once_and_left_as_it_was() -> None:
    with Terminal(PROGRAM) as screen:
        screen.wait_until(lambda _rows: b"\x1b[c" in screen.raw)
        assert screen.raw.count(b"\x1b[6n") == 2
        screen.send(f"\x1b[1;2R\x1b[1;2R{LIGHT}{WHO}".encode())
        rows = "".join(screen.wait_for("attributes"))
        assert "found TerminalAnswers(widths={'a': 1, '→': 1}, light=True" in rows
        assert screen.wait_exit() == 0


def test_a_terminal_that_answers_nothing_costs_a_second() -> None:
    with Terminal(PROGRAM) as screen:
        screen.wait_until(lambda _rows: b"\x1b[c" in screen.raw)
        begun = time.monotonic()
        screen.wait_for("attributes=None")
        assert 0.5 < time.monotonic() - begun < 20


def test_a_dumb_terminal_is_not_asked() -> None:
    with Terminal(PROGRAM, env={"TERM": "dumb"}) as screen:
        screen.wait_for("found None")
        assert b"\x1b[c" not in screen.raw
