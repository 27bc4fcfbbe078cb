"""The list of lessons says what is in the files."""

from rdmalab.scenario.lessons import ListedLesson, lesson
from tests.scenario.playing import PAIR, scenario

MORE = (
    'about: "  what \\t it shows "\ntags: [rc, first]\nteaches: [S001]\nsetup:\n  - alloc_pd A.p\n'
)


def test_a_lesson_is_its_head_and_its_place() -> None:
    listed = ListedLesson("x", "t", ("rc",), "x.yaml", 2, 5, "basics", 3)
    row = lesson(listed, scenario(PAIR, MORE).document, 2, ["S001"], done=True)
    assert (row.file, row.title, row.about) == ("x.yaml", "t", "what \t it shows")
    assert (row.tags, row.teaches, row.steps) == (["rc", "first"], ["S001"], 2)
    assert (row.name, row.kind, row.path, row.order) == ("x", "lesson", "basics", 3)
    assert (row.level, row.minutes, row.done) == (2, 5, True)
