"""What a message says about a word nobody knows: the word itself, and exactly one suggestion."""

from collections.abc import Iterable
from difflib import get_close_matches

_LONGEST = 40  # what a message repeats of a text; difflib is quadratic beyond
_NAMED = 6  # how many legal words a suggestion names


def quoted(text: str) -> str:
    """The text in quotes, cut when it is long."""
    return f'"{text}"' if len(text) <= _LONGEST else f'"{text[:_LONGEST]}…"'


def suggest(word: str, legal: Iterable[str]) -> str:
    """One suggestion: the nearest legal word, else what would be legal, abbreviated."""
    words = list(dict.fromkeys(legal))
    lowered = {w.lower(): w for w in reversed(words)}
    near = get_close_matches(word.lower(), lowered, 1) if len(word) <= _LONGEST else []
    begun = [w for w in lowered if len(word) > 1 and w.startswith(word.lower())]
    nearest = [*near, *reversed(begun)]
    return f"did you mean {lowered[nearest[0]]}?" if nearest else listed(words)


def listed(words: list[str], lead: str = "legal here: ") -> str:
    """`legal here: a, b, c, …`; nothing where nothing is legal."""
    more = ", …" if len(words) > _NAMED else ""
    return lead + ", ".join(words[:_NAMED]) + more if words else ""
