"""The list of lessons says what stands in the files."""

from rdmalab.scenario.lessons import LessonsModel, lesson, lines
from tests.scenario.playing import PAIR, scenario

MORE = (
    'about: "  what \\t it shows "\ntags: [rc, first]\nteaches: [S001]\nsetup:\n  - alloc_pd A.p\n'
)


def test_a_lesson_is_its_head() -> None:
    row = lesson(scenario(PAIR, MORE))
    assert (row.file, row.title, row.about) == ("x.yaml", "t", "what \t it shows")
    assert (row.tags, row.teaches, row.steps) == (["rc", "first"], ["S001"], 2)


def test_it_is_listed_in_two_lines() -> None:
    said = lines(LessonsModel(lessons=[lesson(scenario(PAIR, MORE)), lesson(scenario(PAIR))]))
    assert list(said) == ["x.yaml: t", "    rc first S001", "x.yaml: t", ""]
