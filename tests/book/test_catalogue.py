"""Files, the order of folders, and the paths of their pages."""

import re

from hypothesis import given
from hypothesis import strategies as st

from rdmalab.book.catalogue import catalogue
from rdmalab.scenario.files import lessons_folder

NAMES = ["b/two.rdmalab.yaml", "a/one.rdmalab.yaml", "a/three.rdmalab.yaml", "labs/l.lab.yaml"]


def test_folders_and_neighbours_follow_the_names() -> None:
    listed = catalogue([*NAMES, NAMES[0]])
    assert [each.page for each in listed.chapters] == [
        "lessons/a/one.html", "lessons/a/three.html", "lessons/b/two.html", "labs/l.html",
    ]  # fmt: skip
    one, three, two, lab = listed.chapters
    assert listed.neighbours(one) == (None, three)
    assert listed.neighbours(three) == (one, two)
    assert listed.neighbours(two) == (three, None)  # a lab is in a list of its own
    assert listed.neighbours(lab) == (None, None)
    assert list(listed.folders()) == ["a", "b"]
    assert listed.labs == [lab]


@given(st.lists(st.text(min_size=1), max_size=6))
def test_any_name_gets_a_page_of_its_own_below_the_book(names: list[str]) -> None:
    listed = catalogue(f"{name}.rdmalab.yaml" for name in names)
    pages = [each.page for each in listed.chapters]
    assert len({page.lower() for page in pages}) == len(set(names))
    for page in pages:
        assert re.fullmatch(r"lessons(/[A-Za-z0-9_][A-Za-z0-9_.-]*){2}\.html|", page), page
        assert "/../" not in page


def test_a_lesson_of_a_path_is_followed_by_the_next_of_the_path() -> None:
    folder = lessons_folder()
    names = ("loss/lost-packet", "lumina/congestion-mark", "loss/lost-ack")
    listed = catalogue(str(folder / f"{name}.rdmalab.yaml") for name in names)
    lost = next(each for each in listed.chapters if each.name == "loss/lost-packet")
    after = listed.neighbours(lost)[1]
    assert after is not None
    assert after.name == "loss/lost-ack"
    path = next(path for path in listed.paths if lost in path.chapters)
    assert [each.name for each in path.chapters] == ["loss/lost-packet", "loss/lost-ack"]


def test_where_to_begin_and_labs_by_level() -> None:
    folder = lessons_folder()
    names = (
        "tour.lab",
        "rc/send.rdmalab",
        "labs/access.lab",
        "labs/by-hand.lab",
        "labs/sq-full.lab",
    )
    listed = catalogue(str(folder / f"{name}.yaml") for name in names)
    assert [each.name for each in listed.first] == ["tour", "rc/send", "labs/by-hand"]
    assert [each.level for each in listed.labs] == sorted(each.level or 9 for each in listed.labs)
    assert listed.labs[0].name == "tour"
    assert all(each.minutes for each in listed.chapters)
    assert catalogue(["b/two.rdmalab.yaml"]).first == []
