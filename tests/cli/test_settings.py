"""Command settings, and the options that replace a setting for one start."""

import sys
from pathlib import Path

import pytest

from rdmalab import cli
from rdmalab.recovery.user_paths import settings_file
from rdmalab.workbench import settings


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of this test, which does not exist yet."""
    monkeypatch.setenv("RDMALAB_STATE", str(tmp_path))
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(settings, "_options", {})
    return settings_file()


def test_all_are_listed_with_what_is_legal_and_where(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["settings"]) == 0
    answer = capsys.readouterr().out
    assert all(
        f"{name} " in answer and row.legal in answer for name, row in settings.SETTINGS.items()
    )
    assert str(file) in answer


def test_one_is_changed_and_printed(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["settings", "theme", "light"]) == 0
    assert capsys.readouterr().out == f"theme = light, in {file}\n"
    assert cli.main(["settings", "theme"]) == 0
    assert capsys.readouterr().out == "light\n"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["colors"], '"colors" is no setting; did you mean colours? Legal: theme, ascii'),
        (["them", "x"], '"them" is no setting'),
        (["width", "7"], 'width: "7" is not legal; legal: auto, 40 to 250'),
    ],
)
def test_what_is_not_legal(words: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["settings", *words]) == 2
    assert text in capsys.readouterr().err


def test_a_wrong_line_of_the_file_is_a_message(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text("mouse = perhaps\n")
    assert cli.main(["settings", "mouse"]) == 0
    assert capsys.readouterr() == (
        "on\n", f'{file}:1: mouse: "perhaps" is not legal; legal: on, off\n',
    )  # fmt: skip


@pytest.mark.parametrize("more", [[], ["x.yaml"], ["sq-full"], ["rc/send"]])
def test_options_replace_settings_for_one_start(
    more: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.yaml").touch()
    monkeypatch.setattr(sys.modules["rdmalab.cli.program"], "at_terminal", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    found: list[settings.Settings] = []

    def started(**_given: object) -> int:
        found.append(settings.read())
        return 0

    monkeypatch.setattr("rdmalab.tui.launch.main", started)
    assert cli.main([*more, "--theme", "contrast", "--ascii", "--no-mouse"]) == 0
    assert (found[0].theme, found[0].ascii, found[0].mouse) == ("contrast", True, False)
    assert cli.main(["--theme", "N!", *more]) == 2
