"""Lines that give way."""

from rdmalab.shell.styled_text import text_of
from rdmalab.tui.overflow import fitted, with_room


def test_the_most_important_lines_stay_in_order() -> None:
    ranked = [(0, [[("", "a")]]), (9, [[("", "b")], [("", "c")]]), (5, [[("", "d")]])]
    assert [text_of(line) for line in fitted(ranked, 2)] == ["a", "d"]
    assert [text_of(line) for line in fitted(ranked, 3)] == ["a", "d"]
    assert [text_of(line) for line in fitted(ranked, 4)] == ["a", "b", "c", "d"]


def test_words_are_added_as_far_as_there_is_room() -> None:
    line, more = [("", "abc")], [("", "de"), ("", "fgh"), ("", "i")]
    assert text_of(with_room(line, more, 7)) == "abcde"
    assert text_of(with_room(line, more, 8)) == "abcdefgh"
    assert text_of(with_room(line, more, 2)) == "abc"
