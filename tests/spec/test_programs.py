"""The words of programs: every word can be read, and those that cost nothing are no verbs."""

from rdmalab.grammar import program
from rdmalab.spec.programs import BLOCKING, FREE, PACE_NS, WORDS
from rdmalab.spec.rules import RULES
from rdmalab.vocabulary import VOCABULARY


def test_every_word_is_read_and_none_else() -> None:
    assert set(WORDS) == set(program._READERS)
    assert set(FREE) < set(WORDS)


def test_no_word_hides_a_verb() -> None:
    """`stop` ends a program from within and from without; nothing else has two meanings."""
    assert set(WORDS) & set(VOCABULARY) == {"stop"}


def test_the_usage_begins_with_the_word() -> None:
    for word, row in WORDS.items():
        assert row.usage.split()[0] == word


def test_what_blocks_says_so() -> None:
    for rule in BLOCKING:
        assert "would block" in RULES[rule].sentence
    assert {name for name, row in RULES.items() if "would block" in row.sentence} == set(BLOCKING)
    assert PACE_NS > 0
