"""The checks of selfcheck, one by one."""

import os
from importlib import metadata
from pathlib import Path

import pytest

from rdmalab.cli import selfcheck
from rdmalab.cli.selfcheck import CHARACTERS, Check, State, TerminalAnswers
from rdmalab.workbench.settings import Settings

SIZE = os.terminal_size((120, 40))
GOOD = TerminalAnswers(dict.fromkeys(CHARACTERS, 1), False, frozenset({52}))


@pytest.fixture
def at_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("stdin", "stdout"):
        monkeypatch.setattr(f"sys.{name}.isatty", lambda: True)


def seen(check: Check) -> tuple[State, str, bool]:
    return check.state, check.found, bool(check.remedy)


@pytest.mark.usefixtures("at_terminal")
def test_type_and_size_of_the_terminal() -> None:
    xterm = {"TERM": "xterm-256color"}
    assert seen(selfcheck.terminal(GOOD, xterm, SIZE)) == (
        State.OK, "120x40, TERM=xterm-256color", False,
    )  # fmt: skip
    small = selfcheck.terminal(GOOD, xterm, os.terminal_size((59, 40)))
    assert (small.state, "60x16" in small.remedy) == (State.ATTENTION, True)
    for kind in ({}, {"TERM": "dumb"}):
        assert selfcheck.terminal(GOOD, kind, SIZE).state is State.ATTENTION
    mute = selfcheck.terminal(TerminalAnswers({}, None, None), xterm, SIZE)
    assert mute.remedy.startswith("it answers no question")


def test_no_terminal_is_no_failure() -> None:
    assert selfcheck.terminal(None, {}, SIZE).found == "no terminal"


@pytest.mark.parametrize(
    ("environ", "state", "found"),
    [
        ({"COLORTERM": "truecolor"}, State.OK, "truecolor"),
        ({"TERM": "xterm-direct"}, State.OK, "truecolor"),
        ({"TERM": "xterm-256color"}, State.ATTENTION, "256 colours"),
        ({"TERM": "linux"}, State.ATTENTION, "16 colours"),
    ],
)
def test_colours(environ: dict[str, str], state: State, found: str) -> None:
    check = selfcheck.colours(environ, Settings())
    assert (check.state, check.found) == (state, found)
    tmux = selfcheck.colours({**environ, "TMUX": "x"}, Settings())
    assert ("terminal-features" in tmux.remedy) == (state is State.ATTENTION)


def test_colours_by_a_setting() -> None:
    assert selfcheck.colours({}, Settings(colours="none")).state is State.OK
    assert selfcheck.colours({}, Settings(colours="16")).found == "16, by the setting colours"


def test_encodings() -> None:
    assert selfcheck.encoding("utf-8") == Check("encoding", State.OK, "utf-8")
    for name in ("latin-1", "no-such-encoding", ""):
        check = selfcheck.encoding(name)
        assert check.state is State.ATTENTION
        assert "LC_ALL=C.UTF-8" in check.remedy


def test_what_makes_the_page_has_a_row(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    check = selfcheck.node()
    assert (check.state, check.found) == (State.NOTE, "not found: node and npm")
    for name in ("node", "npm"):
        (tmp_path / name).touch(0o755)
    assert selfcheck.node() == Check("node", State.OK, str(tmp_path / "node"))


def test_background_and_characters() -> None:
    auto, dark = Settings(), Settings(theme="dark")
    assert selfcheck.background(GOOD, auto).found == "dark"
    light = TerminalAnswers({"→": 2, "a": 1}, True, frozenset())
    assert selfcheck.background(light, auto).found == "light"
    assert selfcheck.background(None, auto).state is State.NOTE
    assert "theme light" in selfcheck.background(None, auto).remedy
    assert not selfcheck.background(None, dark).remedy  # nothing follows the terminal
    assert seen(selfcheck.characters(GOOD))[0] is State.OK
    wide = selfcheck.characters(light)
    assert (wide.state, wide.found) == (State.FAILED, "these do not take one column: →")
    assert selfcheck.characters(None).state is State.NOTE


@pytest.mark.parametrize(
    ("environ", "state"),
    [
        ({}, State.OK),
        ({"STY": "1"}, State.ATTENTION),
        ({"VTE_VERSION": "7000"}, State.ATTENTION),
        ({"TERM_PROGRAM": "Apple_Terminal"}, State.ATTENTION),
    ],
)
def test_the_clipboard(environ: dict[str, str], state: State) -> None:
    assert selfcheck.clipboard(GOOD, environ).state is state
    assert selfcheck.clipboard(None, {}).state is State.NOTE


@pytest.mark.parametrize(("value", "state"), [("on", State.OK), ("external", State.ATTENTION)])
def test_the_clipboard_of_tmux(
    value: str, state: State, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmux = tmp_path / "tmux"
    tmux.write_text(f"#!/bin/sh\necho {value}\n")
    tmux.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    check = selfcheck.clipboard(GOOD, {"TMUX": "x"})
    assert (check.state, check.found) == (state, f"tmux set-clipboard {value}")
    monkeypatch.setenv("PATH", "")
    assert selfcheck.clipboard(GOOD, {"TMUX": "x"}).found == "tmux set-clipboard unknown"


@pytest.mark.parametrize(
    ("version", "bounds", "expected"),
    [
        ("8.2.8", "<9,>=8.2.5", True), ("9.0", "<9,>=8.2.5", False), ("8.2.4", ">=8.2.5", False),
        ("3.0.53", "<3.1,>=3.0.50", True), ("2", ">=2.0.0", True), ("1.2rc1", ">1.1", True),
        ("1.5", "", True),
    ],
)  # fmt: skip
def test_versions(version: str, bounds: str, expected: bool) -> None:
    assert selfcheck.is_within(version, bounds) is expected


def test_each_required_package_is_there_and_within_its_bounds() -> None:
    rows = {check.name.lower().replace("_", "-"): check for check in selfcheck.packages()}
    assert {"textual", "prompt-toolkit", "click", "pyyaml", "pydantic"} < rows.keys()
    assert all(check.state is not State.FAILED for check in rows.values())
    assert "extra cluster" in rows


def test_packages_that_are_missing_or_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["textual>=99", "no-such-package>=1", "none-either; extra == 'more'"]
    monkeypatch.setattr(metadata, "requires", lambda _name: texts)
    old, missing, extra = selfcheck.packages()
    assert (old.state, old.remedy) == (State.FAILED, "pip install 'textual>=99'")
    assert (missing.state, missing.found) == (State.FAILED, "not installed")
    assert (extra.state, extra.remedy) == (State.NOTE, "pip install 'rdmalab[more]'")


def test_a_state_directory_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RDMALAB_STATE", str(tmp_path))
    assert selfcheck.state_directory() == Check("state directory", State.OK, str(tmp_path))
    (tmp_path / "file").touch()
    monkeypatch.setenv("RDMALAB_STATE", str(tmp_path / "file" / "x"))
    check = selfcheck.state_directory()
    assert check.state is State.FAILED
    assert "RDMALAB_STATE" in check.remedy


def test_a_wrong_line_of_the_settings_and_no_lessons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (row,) = selfcheck.setting_rows(Settings(wrong=("x:1: mouse …",)))
    assert (row.state, row.found) == (State.ATTENTION, "x:1: mouse …")
    assert selfcheck.lessons().state is State.OK
    (tmp_path / "scenarios").mkdir()
    monkeypatch.chdir(tmp_path)
    assert selfcheck.lessons().state is State.FAILED
