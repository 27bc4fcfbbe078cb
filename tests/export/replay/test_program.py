"""Long lines: folded after a comma or a bar in parentheses, never in a string or a comment."""

from hypothesis import given, settings
from hypothesis import strategies as st

from rdmalab.export.replay.program import folded, wrapped
from tests.each import examples


def test_a_call_is_folded_after_a_comma_or_a_bar() -> None:
    assert folded("f(aaaa, bbbb, cccc)", 14, "  ", 1) == ["f(aaaa, bbbb,", "    cccc)"]
    assert folded("  x = f(A | B | C | D)", 16, "  ", 1) == ["  x = f(A | B |", "      C | D)"]


def test_tabs_count_as_columns() -> None:
    assert folded("\tf(aaaa, bbbb)", 16, "\t", 8) == ["\tf(aaaa,", "\t\t\tbbbb)"]


def test_strings_and_comments_stay_whole() -> None:
    line = 'f("one, two, three, four")'
    assert folded(line, 12, "  ", 1) == [line]
    assert folded("# one, two, three,", 8, "  ", 1) == ["# one, two, three,"]


@settings(max_examples=examples(300))
@given(st.lists(st.sampled_from(['"a, b"', "IBV_X | IBV_Y", "f(1, 2)", "name"]), min_size=1))
def test_nothing_is_lost(parts: list[str]) -> None:
    line = f"call({', '.join(parts)})"
    again = " ".join(each.strip() for each in folded(line, 24, "    ", 1))
    assert again == line


def test_text_is_wrapped_and_empty_lines_stay() -> None:
    assert wrapped("a\n\nb") == ["a", "", "b"]
    assert max(map(len, wrapped("word " * 100))) <= 92
