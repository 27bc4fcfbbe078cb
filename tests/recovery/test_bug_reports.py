"""Reports of bugs: one sentence, and a file with all that is needed to find it."""

from pathlib import Path

import pytest

from rdmalab.recovery import bug_reports
from rdmalab.version import VERSION


def raised() -> Exception:
    try:
        raise ValueError("invalid\nliteral: '012'")
    except ValueError as bug:
        return bug


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RDMALAB_STATE", str(tmp_path))
    return tmp_path / bug_reports.FOLDER


def test_a_bug_is_called_in_one_line() -> None:
    assert (
        bug_reports.called(raised())
        == f"a bug in rdmalab {VERSION}: ValueError: invalid literal: '012'"
    )
    assert bug_reports.called(KeyError()) == f"a bug in rdmalab {VERSION}: KeyError"


def test_the_report_has_version_lines_and_traceback(folder: Path) -> None:
    answer = bug_reports.report(raised(), ["use rc_pair", "explain \udcff\u202e"])
    (path,) = folder.iterdir()
    assert answer == f"report: {path}"
    text = path.read_text(encoding="utf-8")
    assert text.startswith(f"rdmalab {VERSION}\nPython ")
    assert "> use rc_pair\n> explain \\udcff" in text
    assert 'raise ValueError("invalid' in text


def test_only_the_newest_are_kept(folder: Path) -> None:
    last = [bug_reports.report(raised()) for _ in range(bug_reports.KEPT + 5)][-1]
    kept = sorted(folder.iterdir())
    assert len(kept) == bug_reports.KEPT
    assert last == f"report: {kept[-1]}"


def test_where_nothing_can_be_written_it_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("RDMALAB_STATE", str(tmp_path / "file"))
    assert bug_reports.report(raised()) == "no report: File exists"
