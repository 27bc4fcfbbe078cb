"""Submissions: read from a file or a word, and written; results in them are not read."""

import re
from hashlib import sha256
from itertools import islice

import yaml

from rdmalab.classroom.instructor_model import Submission
from rdmalab.scenario import yaml_tree
from rdmalab.scenario.document import shaped
from rdmalab.scenario.field_types import FORMAT
from rdmalab.scenario.share_text import WORK, Damaged, packed, unpacked
from rdmalab.scenario.source import FileError, Source

_KNOWN = frozenset(Submission.model_fields)
_HEAD = re.compile(rf"(?<![\w-]){WORK.head}:[0-9]+:")
_PIECE = re.compile(r"\s*([\w-]+)([^\w\s-]?)", re.ASCII)  # letters of a word, and what ends it
_MOST_PIECES, _MOST_WORDS = 100, 10


def is_word(text: str) -> bool:
    """Whether a text is a submission as one word."""
    return text.lstrip().startswith(f"{WORK.head}:")


def words_in(text: str) -> list[str]:
    """The submissions that a text has as words, each whole where blanks were put into it."""
    return [_word_at(text, match) for match in islice(_HEAD.finditer(text), _MOST_WORDS)]


def _word_at(text: str, match: re.Match[str]) -> str:
    """The shortest whole word that begins here; if none is whole, the letters up to a blank."""
    word = first = match[0]
    for number, piece in enumerate(islice(_PIECE.finditer(text, match.end()), _MOST_PIECES)):
        word += piece[1]
        first = first if number else word
        if _is_whole(word):
            return word
        if piece[2]:  # a sign that no word has
            break
    return first


def _is_whole(word: str) -> bool:
    try:
        unpacked(word, WORK)
    except Damaged:
        return False
    return True


def is_one(octets: bytes) -> bool:
    """Whether a file is a submission, which may be replaced by a newer one."""
    return b"kind: submission" in octets


def loads(text: str, path: str) -> Submission:
    """The submission in a text, YAML or a word; raises FileError. path: for messages.

    Keys that a submission does not have, such as a score, are ignored.
    """
    if is_word(text):
        try:
            text = unpacked(text, WORK)
        except Damaged as wrong:
            raise FileError(path, str(wrong)) from None
    source = Source(path, text)
    root = yaml_tree.compose(source)
    plain = yaml_tree.plain(root)
    if isinstance(plain, dict):
        plain = {key: value for key, value in plain.items() if key in _KNOWN}
    with shaped(source, root, document=Submission):
        return Submission.model_validate(plain)


def written(work: Submission) -> str:
    """The submission as YAML."""
    plain = work.model_dump(exclude_defaults=True)
    plain = {"rdmalab": FORMAT, "kind": "submission", **plain}
    return yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=100)


def word_of(work: Submission) -> str:
    """The submission as one word, to be pasted into a form."""
    return packed(written(work), WORK)


def fingerprint(text: str) -> str:
    """SHA-256 of a submission as it was handed in."""
    return sha256(text.encode()).hexdigest()
