"""Short words for the tests of the guide."""

from rdmalab.command import Command
from rdmalab.guide.explain import explain
from rdmalab.vocabulary import VOCABULARY
from rdmalab.workbench import help as helping

WORDS: dict[str, Command] = {**VOCABULARY, "help": helping.help_, "explain": helping.explain}


def article_text(text: str) -> str:
    """All that is said about a word, in one row."""
    return explain(text, WORDS).text


def row(text: str, heading: str) -> str:
    """What stands beside a heading; empty where it does not stand."""
    sections = explain(text, WORDS).sections
    return " ".join(line for s in sections if s.heading == heading for line in s.lines)
