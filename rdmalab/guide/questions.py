"""Questions in plain words: `what is rnr?`, `how do I zoom`."""

from typing import NamedTuple

_ASKING = frozenset((
    "what", "whats", "what's", "which", "how", "who", "where", "is", "are", "was", "a", "an", "the",
    "does", "do", "did", "can", "i", "my", "we", "you", "to", "of", "about", "mean", "means",
    "meaning", "please", "me", "define",
))  # fmt: skip


class Asked(NamedTuple):
    """The words that a question is about. is_question: it had words such as `what is`."""

    words: list[str]
    is_question: bool


def asked(text: str) -> Asked:
    """The words of a text without those that only ask; one word always stays."""
    words = text.strip().rstrip("?!. ").split()
    count = len(words)
    while len(words) > 1 and words[0].casefold() in _ASKING:
        words.pop(0)
    while len(words) > 1 and words[-1].casefold() in _ASKING:
        words.pop()
    return Asked(words, len(words) < count)
