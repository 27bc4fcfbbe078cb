"""Concepts: the words that must be there, and where they send people."""

import pytest

from rdmalab.guide.concepts import CONCEPTS
from rdmalab.guide.explain import explain, lookup
from tests.guide.saying import WORDS, row, said

WANTED = (
    "psn", "msn", "rnr", "doorbell", "lkey", "rkey", "inline", "fence", "solicited", "flush",
    "slots", "wqe", "profile", "wr", "cqe", "wc", "signaled", "retry", "drain", "duplicate",
    "NAK", "WELL", "NEVER", "LOST", "PENDING", "deaf",
)  # fmt: skip


@pytest.mark.parametrize("word", WANTED)
def test_words_of_the_trade_are_explained(word: str) -> None:
    assert lookup(word, WORDS)


@pytest.mark.parametrize("name", CONCEPTS)
def test_a_concept_says_all_its_sentences(name: str) -> None:
    assert all(line in said(f"concept {name}") for line in CONCEPTS[name].lines)


def test_other_names_are_told() -> None:
    assert row("packet sequence number", "also called") == "packet sequence number"


@pytest.mark.parametrize(
    ("words", "title"),
    [
        ("struct ibv_sge", "ibv_sge"),
        ("enum ibv_wr_opcode", "ibv_wr_opcode"),
        ("Send Request", "wr"),
        ("Receive Request", "wr"),
        ("SR", "wr"),
        ("RR", "wr"),
        ("outstanding", "outstanding"),
        ("network order", "immediate"),
        ("htonl", "immediate"),
        ("scatter/gather", "sge"),
        ("immediate data", "immediate"),
        ("inline data", "inline data"),
        ("atomic", "atomic"),
        ("segmentation fault", "segmentation fault"),
        ("critical region", "critical region"),
        ("builder", "builder"),
        ("setter", "setter"),
        ("parent domain", "parent domain"),
    ],
)
def test_words_of_the_documents(words: str, title: str) -> None:
    assert explain(words, WORDS).title == title


def test_a_thread_domain_is_no_parent_domain() -> None:
    assert "parent domain" not in row("td", "also called")


def test_the_number_of_multicast_is_explained() -> None:
    assert "every QP that is attached to the" in said("0xFFFFFF")
    assert said("0xffffff") == said("qpn")
