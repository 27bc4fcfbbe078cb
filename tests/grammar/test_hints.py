"""Exactly one suggestion: the nearest word, or what would be legal."""

from rdmalab.grammar.hints import listed, quoted, suggest


def test_the_nearest_word_is_suggested_in_its_own_case() -> None:
    assert suggest("rtss", ["RESET", "RTR", "RTS"]) == "did you mean RTS?"
    assert suggest("n", ["cqe", "num_entries="]) == "legal here: cqe, num_entries="
    assert suggest("num", ["cqe", "num_entries="]) == "did you mean num_entries=?"


def test_far_words_get_what_is_legal_abbreviated() -> None:
    assert suggest("qqq", ["a", "b"]) == "legal here: a, b"
    assert suggest("qqq", "abcdefgh") == "legal here: a, b, c, d, e, f, …"
    assert listed([]) == ""


def test_a_long_text_is_cut_and_not_compared() -> None:
    assert quoted("x" * 50) == f'"{"x" * 40}…"'
    assert suggest("RTS" * 20, ["RTS"]) == "legal here: RTS"
