"""Concepts: the words that must be there, and where they send people."""

import pytest

from rdmalab.guide.concepts import CONCEPTS
from rdmalab.guide.explain import lookup
from tests.guide.saying import WORDS, row, said

WANTED = (
    "psn", "msn", "rnr", "doorbell", "lkey", "rkey", "inline", "fence", "solicited", "flush",
    "slots", "wqe", "profile", "wr", "cqe", "wc", "signaled", "retry", "drain", "duplicate",
)  # fmt: skip


@pytest.mark.parametrize("word", WANTED)
def test_words_of_the_trade_are_explained(word: str) -> None:
    assert lookup(word, WORDS)


@pytest.mark.parametrize("name", CONCEPTS)
def test_a_concept_says_all_its_sentences(name: str) -> None:
    assert all(line in said(f"concept {name}") for line in CONCEPTS[name].lines)


def test_other_names_are_told() -> None:
    assert row("packet sequence number", "also called") == "packet sequence number"
