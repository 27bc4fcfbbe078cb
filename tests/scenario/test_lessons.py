"""The catalogue has every lesson and lab, in the order of the learning paths."""

import os
import time
from pathlib import Path

import pytest

from rdmalab.scenario.files import found, lesson_files
from rdmalab.scenario.lessons import (
    LEVELS,
    UnknownWord,
    catalogue,
    chosen,
    following,
    learning_paths,
    listed,
)
from rdmalab.scenario.loader import FileError, load, read
from rdmalab.vocabulary import VOCABULARY

ONE = "rdmalab: 1\ntitle: {}\nsteps:\n  - do: show\n"


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of two lessons and a lab here, which comes before that of the package."""
    (tmp_path / "scenarios" / "a").mkdir(parents=True)
    (tmp_path / "scenarios" / "b").mkdir()
    for name, title in (("a/one", "1"), ("a/same", "2"), ("b/same", "'it''s: 3'")):
        (tmp_path / "scenarios" / f"{name}.rdmalab.yaml").write_text(ONE.format(title))
    (tmp_path / "scenarios" / "b" / "task.lab.yaml").write_text(
        "rdmalab: 1\nkind: lab\nlevel: 3\nminutes: 20\ntags:\n  - x\n  - y-z\ntitle: 4\n"
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path / "scenarios"


def test_each_shipped_lesson_is_there_once_and_says_what_it_is() -> None:
    lessons = catalogue()
    names = [each.name for each in lessons]
    assert len(names) == len(set(names)) == len(list(lesson_files())) > 470
    assert all(each.title and each.tags and each.minutes > 0 for each in lessons)
    assert {each.level for each in lessons} <= {None, *LEVELS}
    assert {each.name for each in lessons if each.is_lab} >= {"tour", "labs/sq-full"}


def test_a_path_names_lessons_that_exist_and_each_is_on_one_path() -> None:
    paths, lessons = learning_paths(), catalogue()
    assert paths[0].name == "basics"
    named = [name for path in paths for name in path.lessons]
    assert named == [each.name for each in lessons if each.path]
    assert all(10 <= len(path.lessons) <= 17 and path.level in LEVELS for path in paths)
    on_path = {each.name for each in chosen(lessons, "labs") if each.path == "labs"}
    labs = {each.name for each in lessons if each.folder == "labs"}
    assert on_path == labs, f"write {on_path ^ labs} into the path labs of scenarios/paths.yaml"
    assert all(each.level for each in lessons if each.path)


def test_listing_is_fast() -> None:
    catalogue()  # the operating system has the files
    begun = time.process_time()
    catalogue()
    assert time.process_time() - begun < 0.1  # 20 ms on a machine with nothing else to do


def test_a_head_is_read_as_yaml_writes_it(shelf: Path) -> None:
    lab = listed("scenarios/b/task.lab.yaml")
    assert lab is not None
    assert (lab.level, lab.minutes, lab.tags, lab.title) == (3, 20, ("x", "y-z"), "4")
    assert (lab.name, lab.folder, lab.is_lab) == ("b/task", "b", True)
    quoted = listed("scenarios/b/same.rdmalab.yaml")
    assert quoted is not None
    assert quoted.title == "it's: 3"
    os.mkfifo(shelf / "x.rdmalab.yaml")
    assert listed("scenarios/x.rdmalab.yaml") is None
    assert len(catalogue()) == 4


def test_a_path_gives_order_and_level(shelf: Path) -> None:
    text = "paths:\n  p: {title: t, level: 2, lessons: [b/task, a/one, gone]}\n"
    (shelf / "paths.yaml").write_text(text)
    rows = [(each.name, each.path, each.order, each.level) for each in catalogue()]
    assert rows == [
        ("b/task", "p", 1, 3), ("a/one", "p", 2, 2), ("a/same", "", 0, None),
        ("b/same", "", 0, None),
    ]  # fmt: skip
    after = following("b/task")
    assert after is not None
    assert after.name == "a/one"
    assert following("a/one") is following("a/same") is following("gone") is None


@pytest.mark.parametrize(
    "text",
    ["paths: 1\n", "paths: {p: 1}", "paths: {p: {title: t, lessons: []}}", "- 1\n", "a: [", "{}",
     "paths: {p: {title: t, level: high, lessons: []}}"],
)  # fmt: skip
def test_a_wrong_file_of_paths_is_one_error(shelf: Path, text: str) -> None:
    (shelf / "paths.yaml").write_text(text)
    with pytest.raises(FileError, match=r"paths.yaml: no list of paths: .*level, lessons") as wrong:
        catalogue()
    assert "\n" not in str(wrong.value)


def test_they_are_found_by_path_folder_tag_and_level(shelf: Path) -> None:
    lessons = catalogue()
    assert [each.name for each in chosen(lessons, "b")] == ["b/same", "b/task"]
    assert [each.name for each in chosen(lessons, tag="y-z")] == ["b/task"]
    assert [each.name for each in chosen(lessons, level=3)] == ["b/task"]
    with pytest.raises(UnknownWord, match=r'no lesson has tag "y-x" \(did you mean y-z\?\)'):
        chosen(lessons, tag="y-x")
    assert [each.name for each in chosen(lessons, "tas")] == ["b/task"]
    assert [each.name for each in chosen(lessons, "labs")] == ["b/task"]
    with pytest.raises(UnknownWord, match='no lesson has "qqq"'):
        chosen(lessons, "qqq")
    assert shelf.is_dir()


def test_a_name_that_people_say_is_found(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Path(found("one")) == Path("scenarios/a/one.rdmalab.yaml")
    assert Path(found("task")) == Path("scenarios/b/task.lab.yaml")
    with pytest.raises(FileError, match=r"did you mean a/same or b/same\?"):
        read(found("same"))
    with pytest.raises(FileError, match=r"did you mean b/task\?"):
        read(found("b/tusk"))
    with pytest.raises(FileError, match=r"directory$"):
        read(found("one.yaml"))
    monkeypatch.chdir(shelf.parents[1])
    assert found("sq-full").endswith("labs/sq-full.lab.yaml")


def test_the_lesson_by_hand_counts_its_calls() -> None:
    scenario = load(found("bringup/by-hand"), VOCABULARY)
    lines = [step.line for step in scenario.steps if step.line and not step.line.startswith("run")]
    calls = [line.split()[1][0] for line in lines if not line.startswith("write")]
    assert (calls.count("A"), calls.count("B")) == (9, 7)
    assert "nine on A and seven on B" in (scenario.document.about or "")
