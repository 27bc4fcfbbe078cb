"""Files, the order of folders, and the paths of their pages."""

import re

from hypothesis import given
from hypothesis import strategies as st

from rdmalab.book.catalogue import catalogue

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
