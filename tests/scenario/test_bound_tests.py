"""Tests that are bound to statements are asked now, and only a test that passed shows anything."""

from pathlib import Path

import pytest

from rdmalab.scenario.coverage import Bound, ask
from tests.covers import covers

TEST = """
import pytest
from tests.covers import covers

@covers("S001", "S002")
def test_good(): pass

@covers("S003")
@pytest.mark.parametrize("n", [0, 1])
def test_bad_sometimes(n): assert n

@covers("S004")
def test_skipped(): pytest.skip("so")

def test_unbound(): assert False
"""
CONFTEST = Path(__file__).parents[1] / "conftest.py"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = covers: x\n", "utf-8")
    (tmp_path / "conftest.py").write_text(CONFTEST.read_text("utf-8"), "utf-8")
    return tmp_path


@pytest.mark.slow
def test_only_what_passes_now_shows_anything(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "test_it.py").write_text(TEST, "utf-8")
    (folder / "test_other.py").write_text("1 / 0\n", "utf-8")  # binds nothing: not even read
    monkeypatch.setenv("PYTHONPATH", str(CONFTEST.parents[1]))
    found, answer, broken = ask(folder)
    assert not broken
    assert sorted((b.statement, b.item.rpartition("::")[2], b.passed) for b in found) == [
        ("S001", "test_good", True),
        ("S002", "test_good", True),
        ("S003", "test_bad_sometimes[0]", False),
        ("S003", "test_bad_sometimes[1]", True),
        ("S004", "test_skipped", False),
    ]
    assert answer == f"4 asked below {folder}"


@pytest.mark.slow
def test_files_that_cannot_be_collected_are_reported(folder: Path) -> None:
    (folder / "test_it.py").write_text("@covers('S001')\n1 / 0\n", "utf-8")
    assert ask(folder) == ([], f"0 asked below {folder}, other tests cannot be collected", True)


def test_where_nothing_is_bound_pytest_is_not_asked(tmp_path: Path) -> None:
    assert ask(tmp_path) == ([], f"none below {tmp_path}", False)


@pytest.mark.parametrize(
    "statements", [(), ("S261",), ("S001", "S001"), tuple(f"S00{n}" for n in range(1, 7))]
)
def test_a_wrong_binding_fails_before_anything_runs(statements: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="statement"):
        covers(*statements)


def test_a_binding_is_plain() -> None:
    assert covers("S001").args == ("S001",)
    assert Bound("S001", "x", passed=True).passed
