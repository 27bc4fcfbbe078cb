"""Articles: their layout at any width."""

from hypothesis import given
from hypothesis import strategies as st

from rdmalab.guide.article import Article, ArticleSection, article

SHORT = Article(
    "psn", "word", [ArticleSection("", ["A number."]), ArticleSection("range", ["0..7"])], ["why"]
)


def test_headings_stand_on_the_left() -> None:
    assert SHORT.lines() == ["psn  (word)", "  A number.", "  range  0..7", "  see    why"]


def test_long_lines_go_on_beside_their_heading() -> None:
    lines = article("x", "", [("note", "word " * 12), ("n", "short")]).lines(40)
    assert lines[0] == "x"
    assert lines[2].startswith("        word")
    assert lines[-1] == "  n     short"


def test_a_heading_too_long_for_its_column_stands_alone() -> None:
    long = "a.heading.longer.than.all.others"
    assert article("x", "", [(long, "says"), ("short", "too")]).lines() == [
        "x", f"  {long}", "         says", "  short  too",
    ]  # fmt: skip


def test_what_is_set_in_goes_on_deeper() -> None:
    first, second, *_ = article("x", "", [("", "  set in " + "word " * 12)]).lines(40)[1:]
    assert first.startswith("    set in")
    assert second.startswith("      word")


def test_rows_that_say_nothing_are_left_out() -> None:
    assert article("x", "kind", [("a", ""), ("b", []), ("c", ["", "d"])]).sections == [
        ArticleSection("c", ["d"])
    ]


def test_text_holds_every_word() -> None:
    assert SHORT.text == "psn word why  A number. range 0..7"


@given(st.lists(st.tuples(st.text("ab ", max_size=30), st.text("abc ", max_size=200))),
       st.integers(1, 120))  # fmt: skip
def test_no_line_is_longer_than_the_width(rows: list[tuple[str, str]], width: int) -> None:
    assert all(len(line) <= max(width, 40) for line in article("x", "y", rows).lines(width))
