"""Causes that another room hands in are found by their slugs."""

from rdmalab.guide.explain import explain, lookup
from rdmalab.guide.slugs import entries
from tests.guide.saying import WORDS

MORE = tuple(
    entries({"rnr-infinite": ("It never gives up.", "Post a receive."), "loss": ("Gone",)})
)


def test_a_slug_is_explained_by_the_text_that_was_handed_in() -> None:
    said = explain("rnr-infinite", WORDS, MORE)
    assert said.kind == "cause"
    assert said.sections[0].lines == ["It never gives up.", "Post a receive."]
    assert [entry.name for entry in lookup("RNR_INFINITE", WORDS, MORE)] == ["cause rnr-infinite"]


def test_without_it_nobody_knows_the_slug() -> None:
    assert not lookup("rnr-infinite", WORDS)


def test_words_of_the_book_go_first() -> None:
    more = tuple(entries({"psn": ("a slug of the same name",)}))
    assert [entry.kind for entry in lookup("psn", WORDS, more)] == ["word", "cause"]
