"""Which lessons were walked to their end, and the table that says it."""

from pathlib import Path

import pytest

from rdmalab.classroom.progress import coming, done, mark_done, table
from rdmalab.scenario.lessons import ListedLesson, catalogue, chosen
from rdmalab.shell.styled_text import text_of


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RDMALAB_STATE", str(tmp_path))
    return tmp_path


def rows(lessons: list[ListedLesson], width: int = 100, *, whole: bool = True) -> list[str]:
    return [text_of(line) for line in table(lessons, width, whole=whole)]


def test_what_was_done_is_kept_once() -> None:
    assert done() == frozenset()
    for name in ("rc/send", "tour", "rc/send"):
        mark_done(name)
    assert done() == {"rc/send", "tour"}


def test_a_directory_that_cannot_be_written_changes_nothing(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (state / "file").touch()
    monkeypatch.setenv("RDMALAB_STATE", str(state / "file"))
    mark_done("tour")
    assert done() == frozenset()


def test_the_first_that_is_not_done_is_next() -> None:
    lessons = chosen(catalogue(), "basics")
    mark_done("tour")
    mark_done("rc/send")
    following = coming(lessons, done())
    assert following is not None
    assert following.name == "posting/later"
    listed = rows(lessons)
    assert listed[1].startswith("basics: ")
    assert listed[1].endswith("  2 of 14 done")
    assert listed[2].split()[:4] == ["1", "✓", "done", "tour"]
    assert listed[4].split()[:4] == ["3", "●", "next", "posting/later"]
    assert listed[5].split()[:2] == ["4", "posting/wr-id"]
    assert sum("next" in row for row in listed) == 1


@pytest.mark.parametrize("width", [40, 80, 120])
def test_a_row_has_the_width(width: int) -> None:
    lessons = [each for each in catalogue() if len(each.name) < 27]
    assert max(map(len, rows(lessons, width)[2:10])) <= max(width, 55)


def test_those_on_no_path_are_counted_or_listed_by_folder() -> None:
    lessons = catalogue()
    short = rows(lessons, whole=False)
    assert short[-1].startswith("on no path: ")
    assert "why 1" in short[-1]
    whole = rows(lessons)
    assert len(whole) - len(short) > 380
    assert any(row.startswith("folder why  0 of ") for row in whole)
    assert rows([]) == []


def test_control_characters_of_a_title_are_replaced() -> None:
    wild = ListedLesson("x", "a\x1b[2Jb", (), "x.rdmalab.yaml", None, 1)
    assert "a�[2Jb" in rows([wild])[-1]
